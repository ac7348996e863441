"""Real training: the examples of every framework on the local cluster, as `make train` runs them."""
