"""Python code that makes jobs of v1: found by its syntax, rewritten for the SDK of Trainer v2 where that is certain."""
