"""An in-memory Kubernetes API server: storage, verbs, watches, deletion, garbage collection, and its fronts."""
