"""The operator's figures over the size of the cluster, as a table and a picture."""
