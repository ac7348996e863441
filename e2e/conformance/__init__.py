"""Recorded behaviour of the Go operator, release 1.9, and the comparison with ours."""
