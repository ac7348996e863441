"""Arbitrary jobs through all that happens to a job: nothing may raise what has no name."""
