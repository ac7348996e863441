"""The whole local cluster, with its pods as processes."""
