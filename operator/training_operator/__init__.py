"""The operator process: connects to an API server, watches objects, runs the controllers, serves probes and metrics."""

from importlib.metadata import version

__version__ = version("training-operator")
