"""Objects as they come from files, folders, standard input or a cluster, each with where it is from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Document:
    """One object of a source, or the reason why there is none."""

    source: str
    """A file's path, `-` for standard input, `cluster`."""
    line: int
    """Where it begins, from 1; 0 for objects of a cluster."""
    object: Json | None
    error: str = ""
    """One sentence where there is no object."""
