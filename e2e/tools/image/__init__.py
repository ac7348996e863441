"""The operator's image, built and run on this machine without a registry: `python -m e2e.tools.image`."""
