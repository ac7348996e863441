"""What a controller makes of a job, predicted: objects, and the pods among them by role and index."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class RenderedPod:
    """One pod of a job."""

    role: str
    """v1: the replica type in small letters (`master`); v2: the replicated job (`node`)."""
    index: int
    """Within the role, from 0."""
    container: str
    """Name of the container that trains."""
    hostname: str
    """Name under which others reach it from within its namespace."""
    pod: Json


@dataclass(frozen=True, slots=True)
class Rendering:
    """All objects of a job on one side, in the order in which they are created."""

    objects: tuple[Json, ...]
    """Without the pods."""
    pods: tuple[RenderedPod, ...]
