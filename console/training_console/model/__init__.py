"""What is shown of jobs, pods and queues, reduced from stored objects; no effects."""
