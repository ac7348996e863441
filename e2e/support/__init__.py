"""What unit tests and the programs of e2e both need; imports neither."""
