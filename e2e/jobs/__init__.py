"""Lives of jobs on a real API server; the test is the node."""
