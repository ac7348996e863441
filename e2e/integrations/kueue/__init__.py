"""Jobs queued by the real Kueue controller."""
