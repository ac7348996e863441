"""The tutorials of docs/tutorials, done as they stand there."""
