"""The operator process: connects to an API server, watches objects, runs the controllers, serves probes and metrics."""

__version__ = "0.1.0"
