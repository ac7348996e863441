"""How fast the operator, the local cluster and the commands are."""
