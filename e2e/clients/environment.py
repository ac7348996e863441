"""The virtual environment of the clients."""

from __future__ import annotations

import os
from pathlib import Path

from e2e.harness.environment import environment

CONSTRAINTS = Path(__file__).with_name("constraints.txt")


def client_python() -> Path:
    """The Python that has the clients, or that of TRAINING_E2E_CLIENTS.

    Installs them if need be, raises HarnessError where they cannot be had.
    """
    if chosen := os.environ.get("TRAINING_E2E_CLIENTS"):
        return Path(chosen)
    return environment("clients", CONSTRAINTS) / "python"
