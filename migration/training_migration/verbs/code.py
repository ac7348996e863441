"""`training-operator migrate code`: Python code that uses v1's SDK, rewritten for that of Trainer v2."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import click

from training_api.documents import Unreadable, is_special, read_text
from training_api.yaml_text import json_value
from training_migration.code.rewrite import Rewritten, rewrite
from training_migration.convert.files import write_whole
from training_migration.exits import Exit, worst

_SKIPPED = frozenset({"node_modules", "__pycache__", "venv", "site-packages", "build", "dist"})


def code(*, paths: tuple[str, ...], in_place: bool) -> Exit:
    """Rewrite the Python code of PATH... (files, and folders with all .py below) for the SDK of Trainer v2."""
    return worst(_changed(path, in_place=in_place) for path in _files(paths))


def _changed(path: Path, *, in_place: bool) -> Exit:
    """Rewrite one file, and say what came of it."""
    if path.suffix == ".ipynb":
        return _looked_through(path)
    try:
        before = read_text(path)
        done = rewrite(before)
    except Unreadable as unreadable:
        return _failed(path, str(unreadable))
    except (SyntaxError, ValueError, RecursionError) as error:
        return _failed(path, f"It is not Python: {str(error).splitlines()[0]}.")
    if done.code != before:
        if in_place:
            write_whole(path, done.code)
        else:
            click.echo("".join(_patch(str(path).lstrip("/"), before, done.code)), nl=False)
    for line, text in done.left:
        click.echo(f"{path}:{line}: {text}", err=True)
    if done.certain or done.left:
        click.echo(f"{path}: {_summary(done)}", err=True)
    return Exit.FOUND if done.left else Exit.DONE


def _looked_through(path: Path) -> Exit:
    """Say what there is to do in a notebook, which is not rewritten: its outputs would no longer fit."""
    try:
        cells = json_value(read_text(path))["cells"]
        texts = ["".join(each["source"]) if each["cell_type"] == "code" else "" for each in cells]
    except (Unreadable, ValueError, LookupError, TypeError) as error:
        return _failed(path, f"It is not a notebook: {str(error).splitlines()[0]}")
    code = Exit.DONE
    for number, text in enumerate(texts, 1):
        try:
            done = rewrite(_MAGIC.sub("#", text))
        except (SyntaxError, ValueError, RecursionError) as error:
            click.echo(f"{path}: cell {number}: It is not Python: {str(error).splitlines()[0]}.", err=True)
            continue
        for line, said in done.left:
            click.echo(f"{path}: cell {number}, line {line}: {said}", err=True)
        if done.certain or done.left:
            click.echo(
                f"{path}: cell {number}: {done.certain} to rewrite by hand, {len(done.left)} to look at", err=True
            )
            code = Exit.FOUND
    return code


_MAGIC: Final = re.compile(r"^[ \t]*[%!]", re.MULTILINE)
"""What begins a line of IPython that is no Python."""


def _failed(path: Path, why: str) -> Exit:
    click.echo(f"Error: {path}: {why}", err=True)
    return Exit.USAGE


def _summary(done: Rewritten) -> str:
    return f"{done.certain} rewritten, {len(done.left)} left to you"


def _patch(name: str, before: str, after: str) -> Iterable[str]:
    first, second = (text.splitlines(keepends=True) for text in (before, after))
    return difflib.unified_diff(first, second, f"a/{name}", f"b/{name}")


def _files(paths: Iterable[str]) -> Iterator[Path]:
    for path in paths:
        if not Path(path).is_dir():
            yield Path(path)
            continue
        for folder, folders, names in os.walk(path):
            folders[:] = sorted(each for each in folders if each not in _SKIPPED and not each.startswith("."))
            yield from (
                Path(folder, name)
                for name in sorted(names)
                if name.endswith(".py") and not is_special(Path(folder, name))
            )
