"""Control planes for tests: built from Go modules, made by kind, or one that exists already."""
