"""Every kind that tests of all kinds run over: the six, and that of the plugin in `examples/`."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Final

from e2e.support.paths import ROOT

from training_api.kinds import KindInfo
from training_controllers.frameworks.base import Framework
from training_controllers.frameworks.registry import FrameworkOptions, frameworks, with_gang

PLUGIN: Final = ROOT / "examples" / "plugin-deepspeed"
PACKAGE: Final = "training-operator-deepspeed"
ENTRY: Final = "training_operator_deepspeed:DEEPSPEED"
sys.path.append(str(PLUGIN))  # importable, and not installed: the operator does not see it
DEEPSPEED: Final[Framework] = import_module("training_operator_deepspeed").DEEPSPEED


def every_framework(options: FrameworkOptions | None = None) -> Mapping[str, Framework]:
    """The framework of every kind, as if the plugin were installed."""
    return {DEEPSPEED.info.kind: with_gang(DEEPSPEED, options.gang if options else None), **frameworks(options)}


EVERY_KIND: Final[Mapping[str, KindInfo]] = {kind: framework.info for kind, framework in every_framework().items()}


def lead(kind: str) -> str:
    """The replica type whose first pod leads the others."""
    info = EVERY_KIND[kind]
    return next(name for name in (*info.single_types, "Chief", "Master", "Worker") if name in info.replica_types)


def led(kind: str, workers: int = 2) -> dict[str, int]:
    """Replicas of a job: one that leads, and so many workers."""
    first = lead(kind)
    return {first: 1, "Worker": workers + (first == "Worker")}


def install_plugin(folder: Path) -> None:
    """Let pip put the plugin into a folder, for `PYTHONPATH`, with the build backend of this Python."""
    alone = ["--quiet", "--no-index", "--no-deps", "--no-build-isolation", "--disable-pip-version-check"]
    subprocess.run(
        [sys.executable, "-m", "pip", "install", *alone, f"--target={folder}", PLUGIN], check=True, timeout=120
    )
