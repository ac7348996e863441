"""What to do about a training job: pure decisions, and the effects that carry them out through ports."""
