"""What people and programs see of a job: a live picture on a terminal, plain lines, JSON lines, a report at the end."""
