"""The virtual environment of the clients."""

from __future__ import annotations

from pathlib import Path

from e2e.harness.environment import environment

CONSTRAINTS = Path(__file__).with_name("constraints.txt")


def client_python() -> Path:
    """The Python that has the clients; installs them if need be, raises HarnessError where they cannot be had."""
    return environment("clients", CONSTRAINTS) / "python"
