"""What each verb of `migrate` does, loaded when it runs: its help needs none of it."""
