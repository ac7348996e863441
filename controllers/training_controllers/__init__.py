"""What to do about a training job: pure decisions, and the shell that carries them out through ports."""
