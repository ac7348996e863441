"""Immutable data that decisions read and write, and the names by which a job's objects are found."""
