"""Gang scheduling: the schedulers that place the pods of a job together, and what they read of it."""
