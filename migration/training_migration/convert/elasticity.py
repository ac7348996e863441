"""Whether an elastic PyTorchJob changes its size at all: what its policy allows, and what its command makes of it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from training_api.models.pytorch import PyTorchElasticPolicy
from training_migration.convert.launchers import Launcher, words

Json = Mapping[str, Any]
_NODES: Final = re.compile(
    r"--(?:nnodes|num[-_]machines|num[-_]nodes|world[-_]size)(?:=|\s+)(?P<value>\$\{[^}]*\}|\$\([^)]*\)|[^\s;&|]+)"
)
_RENDEZVOUS: Final = re.compile(r"--rdzv[-_](backend|endpoint)\b")
_PROCESSES: Final = re.compile(r"--nproc[-_]per[-_]node\b")
_REFERENCE: Final = re.compile(r"\$[({]?(\w+)(?::-([^})]*))?[)}]?")
_READ_BY_TORCHRUN: Final = "PET_NNODES"
_READERS: Final = (Launcher.TORCHRUN, Launcher.UNKNOWN, Launcher.ABSENT)
"""Launchers that take the bounds from the environment, or may do so."""


@dataclass(frozen=True, slots=True)
class Size:
    """How many nodes a job has."""

    elastic: bool
    """Whether the number changes while the job runs."""
    why: str = ""
    """Why it does not, as the end of a sentence."""
    nodes: int | None = None
    """The number, where the command says it."""


def size_of(policy: PyTorchElasticPolicy, workers: int, container: Json, launcher: Launcher) -> Size:
    """Of a job with this policy, whose pods start this container."""
    if (found := _NODES.search(text_of(container))) is not None:
        value = _resolved(found["value"].strip("'\""), container)
        low, _, high = value.partition(":")
        if value != _READ_BY_TORCHRUN and (not high or low == high):
            counts_nodes = "world" not in found[0]
            return Size(False, f"the command says {found[0]}", int(low) if low.isdecimal() and counts_nodes else None)
        return Size(True)
    if policy.min_replicas == policy.max_replicas == workers:
        return Size(False, f"minReplicas and maxReplicas are {workers}")
    if launcher not in _READERS:
        return Size(False, f"{launcher} does not read the bounds")
    return Size(True)


def names_rendezvous(container: Json) -> bool:
    """Whether the command says by which rendezvous its processes find each other."""
    return _RENDEZVOUS.search(text_of(container)) is not None


def names_processes(container: Json) -> bool:
    """Whether the command says how many processes there are for each node."""
    return _PROCESSES.search(text_of(container)) is not None


def text_of(container: Json) -> str:
    """The command line as one text."""
    return " ".join(words(container)).replace("\\\n", " ")


def _resolved(value: str, container: Json) -> str:
    """The value of a reference to a variable of the container; the name of one that the container does not set."""
    if (match := _REFERENCE.fullmatch(value)) is None:
        return value
    given = {str(each.get("name")): str(each.get("value", "")) for each in container.get("env") or ()}
    return given.get(match[1]) or (match[2] if match[2] and match[1] != _READ_BY_TORCHRUN else match[1])
