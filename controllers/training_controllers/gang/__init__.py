"""Gang scheduling: what the schedulers that place the pods of a job together are told."""
