"""The SDK of Trainer v2, in an environment of its own."""
