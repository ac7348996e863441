"""Rules on jobs of v1."""
