"""The ways in which a job is shown while it runs: a picture on a terminal, plain lines, JSON lines."""
