"""Where `convert` writes what comes of a file: below a folder as its input lies below the folder that was given."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path, PurePath


def mirrored(source: str, paths: Sequence[str]) -> PurePath | None:
    """The place of a file below the folder of PATH... that it was found in; None for one that was given by name."""
    for path in paths:
        if Path(path).is_dir() and PurePath(source).is_relative_to(path):
            return PurePath(source).relative_to(path)
    return None
