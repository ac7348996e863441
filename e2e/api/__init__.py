"""What the API server takes, rejects and shows."""
