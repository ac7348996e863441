"""The Python of a pod: the one that its annotation or its job's names, else the one for the kind of its job."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from training_local.node import tools
from training_local.node.api import TransportApi
from training_local.node.environment import ConfigError
from training_local.node.podspec import Pod

PYTHON_ANNOTATION: Final = "training-operator.local/python"
"""Annotation of a pod or of the job that owns it: the interpreter or virtual environment that `python` means."""
_PROGRAMS: Final = re.compile(r"\b(python3?|torchrun|mpirun)\b")
"""What is run by the Python of a pod, or lies beside it."""


class PythonChoice(NamedTuple):
    """A Python, and what there is to say of it."""

    path: Path
    remark: str = ""
    lacking: bool = False
    """Whether the remark is that it lacks the framework of the job."""

    def event(self, command_line: Sequence[str]) -> tuple[str, str, str] | None:
        """Type, reason and message of the event of a container with this command line; None for no event."""
        if not self.remark or not any(map(_PROGRAMS.search, command_line)):
            return None
        return ("Warning", "NoFramework", self.remark) if self.lacking else ("Normal", "Python", self.remark)


PythonOfKind = Callable[[str], PythonChoice]
"""Kind of a job, or nothing -> Python of its pods."""


async def python_of(pod: Pod, api: TransportApi, of_kind: PythonOfKind) -> PythonChoice:
    """Return the Python of a pod; raises `ConfigError` if it asks for one that is not there."""
    named = pod.metadata.annotations.get(PYTHON_ANNOTATION)
    try:
        named = named or (await api.owner_annotations(pod.metadata)).get(PYTHON_ANNOTATION)
        if not named:
            # In a thread: programs are asked what they have.
            return await asyncio.to_thread(of_kind, pod.metadata.controller.kind if pod.metadata.controller else "")
        return PythonChoice(tools.interpreter(Path(named)))
    except OSError as error:
        raise ConfigError(f"the owner of the pod cannot be read: {error}") from error
    except ValueError as error:
        raise ConfigError(f"annotation {PYTHON_ANNOTATION}: {error}") from error
