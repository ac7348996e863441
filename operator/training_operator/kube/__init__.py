"""The Kubernetes API from a client's side: where it is, how to reach it, what it can be asked."""
