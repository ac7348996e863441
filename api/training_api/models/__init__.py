"""What is stored: one module per kind, and what all kinds have in common."""
