"""A Kubernetes-compatible cluster in one process: an in-memory API server and a node that runs real processes."""
