"""The whole operator on the in-memory API server, in virtual time."""
