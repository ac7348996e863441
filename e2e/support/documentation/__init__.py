"""What is generated of the documentation (`make pages`), and what its site needs (`make docs`)."""
