"""Objects as they come from files, folders, standard input or a cluster, each with where it is from.

The one way in which commands read what users have written: bounded in size, documents, depth, and aliases.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path
from typing import Any, Final, TextIO

from training_api.yaml_text import Part, parts

Json = dict[str, Any]

STANDARD_INPUT: Final = "-"
LARGEST: Final = 100_000_000
"""Characters of one file: a list of 20,000 jobs."""
_SUFFIXES: Final = (".yaml", ".yml", ".json")


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


def place(document: Document) -> str:
    """Where it is, as users and editors read it."""
    name = "standard input" if document.source == STANDARD_INPUT else document.source
    return f"{name}:{document.line}" if document.line else name


def files(paths: Iterable[str]) -> Iterator[str]:
    """The files that are to be read, in a fixed order: of folders all YAML and JSON below, but for hidden ones."""
    for path in paths:
        if path == STANDARD_INPUT or not Path(path).is_dir():
            yield path
            continue
        for folder, folders, names in os.walk(path):
            folders[:] = sorted(each for each in folders if not each.startswith("."))
            for name in sorted(names):
                file = Path(folder, name)
                if name.endswith(_SUFFIXES) and not name.startswith(".") and not is_special(file):
                    yield str(file)


def is_special(file: Path) -> bool:
    """Whether it is neither a regular file nor a link to nowhere: a device or a pipe, which may have no end."""
    return file.exists() and not file.is_file()


class Unreadable(ValueError):
    """A file cannot be read; the text is one sentence without the name of the file."""


def read_text(path: Path, most: int | None = None) -> str:
    """The text of a file of at most so many characters, LARGEST of them by default; raises Unreadable."""
    try:
        with path.open(encoding="utf-8-sig") as stream:
            return read_stream(stream, most)
    except OSError as error:
        raise Unreadable(f"It cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise Unreadable("It is not text in UTF-8.") from None


def read_stream(stream: TextIO, most: int | None = None) -> str:
    """The same of an open stream."""
    most = LARGEST if most is None else most
    text = stream.read(most + 1)
    if len(text) > most:
        raise Unreadable(f"It cannot be read: it has more than {most} characters.")
    return text


def read(paths: Iterable[str], stdin: TextIO) -> Iterator[Document]:
    """All objects of files and folders and, for `-`, of `stdin`; lists of objects are taken apart.

    What cannot be read is one document with the reason; what follows it is read nevertheless.
    """
    for path in files(paths):
        try:
            text = read_stream(stdin) if path == STANDARD_INPUT else read_text(Path(path))
        except Unreadable as error:
            yield Document(path, 0, None, str(error))
        else:
            for part in parts(text):
                yield from _objects(path, part)


def _objects(source: str, part: Part) -> Iterator[Document]:
    """The object, or those of a list."""
    value = part.value
    if part.error:
        yield Document(source, part.line, None, part.error)
    elif not isinstance(value, dict):
        shown = "a list" if isinstance(value, list) else f"{json.dumps(value):.40}"
        yield Document(source, part.line, None, f"It is {shown}, not an object with apiVersion and kind.")
    elif is_list(value):
        for line, item in zip(part.items or repeat(part.line), items(value), strict=False):
            yield from _objects(source, Part(line, item))
    else:
        yield Document(source, part.line, value)


def is_list(obj: Json) -> bool:
    """Whether this is a list of objects: `List` as kubectl writes it, or one of a kind, as the API server does."""
    return str(obj.get("kind", "")).endswith("List") and isinstance(obj.get("items"), list)


def items(listed: Json) -> list[Any]:
    """The objects of a list; those of an API server's list of one kind get version and kind, which only it has."""
    kind = listed["kind"].removesuffix("List")
    missing = {"apiVersion": listed.get("apiVersion"), "kind": kind} if kind else {}
    return [{**missing, **each} if isinstance(each, dict) else each for each in listed["items"]]
