"""Questions to a snapshot: which pod holds which slot, what failed and why, how many replicas are in which state."""
