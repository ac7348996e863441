"""Manifests of other projects that tests need, and what makes them small: `python -m e2e.support.definitions`."""
