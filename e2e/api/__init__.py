"""What the API server takes, refuses and shows."""
