"""What the commands do; `commands` says how they are called, and loads these when they run."""
