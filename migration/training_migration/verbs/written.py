"""What `convert` writes: pieces of YAML, below a folder as their input lies below the folder that was given."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any, Final

import click

from training_migration.convert.files import write_whole
from training_migration.exits import Exit, Failure

STANDARD_OUTPUT: Final = Path("-")


@dataclass(frozen=True, slots=True)
class Piece:
    """What comes of one object of the input."""

    source: str
    """Empty for what comes of several objects."""
    line: int
    name: str
    """Of the file that it gets where its input lies in no folder."""
    text: str
    notes: str = ""
    """For a file of their own; empty where there are none."""


def mirrored(source: str, paths: Sequence[str]) -> PurePath | None:
    """The place of a file below the folder of PATH... that it was found in; None for one that was given by name."""
    for path in paths:
        if Path(path).is_dir() and PurePath(source).is_relative_to(path):
            return PurePath(source).relative_to(path)
    return None


def file_name(obj: Mapping[str, Any]) -> str:
    """`NAME.yaml`, in a folder of the namespace's name where there is one."""
    metadata = obj.get("metadata") or {}
    name = metadata.get("name") or str(obj.get("kind")).lower()
    return f"{metadata['namespace']}/{name}.yaml" if metadata.get("namespace") else f"{name}.yaml"


def write(pieces: Iterable[Piece], paths: Sequence[str], output: Path) -> None:
    """Write all pieces to a folder or to standard output; raises Failure for what cannot be written."""
    if output == STANDARD_OUTPUT:
        click.echo("---\n".join(each.text for each in pieces), nl=False)
        return
    files: dict[Path, list[Piece]] = defaultdict(list)
    for each in pieces:
        place = mirrored(each.source, paths) if each.source else None
        files[output / (place.with_suffix(".yaml") if place else each.name)].append(each)
    try:
        for path, held in files.items():
            held.sort(key=lambda each: each.line)
            write_whole(path, "---\n".join(each.text for each in held))
            if notes := "\n".join(each.notes for each in held if each.notes):
                write_whole(path.with_suffix(".notes.txt"), notes)
    except OSError as error:
        raise Failure(f"{error.filename or output}: cannot be written: {error.strerror}.", Exit.USAGE) from None
