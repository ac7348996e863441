"""What two runs are compared by."""
