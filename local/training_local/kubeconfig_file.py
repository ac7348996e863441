"""A kubeconfig where the user wants it, without harm to one that is there already."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from training_local.apiserver.kubeconfig import FIRST_LINE
from training_local.apply import BadInput


def check_ours(path: Path) -> None:
    """Raise `BadInput` if there is a file that this program has not written."""
    try:
        if path.exists() and not path.read_text(errors="replace").startswith(FIRST_LINE):
            raise BadInput(f"--kubeconfig {path}: exists and was not written by this program; name a new file")
    except OSError as error:
        raise _refused(path, error) from None


@contextmanager
def placed(source: Path, path: Path) -> Iterator[None]:
    """Have a copy of the kubeconfig `source` at `path` inside the context; raises `BadInput` if that cannot be."""
    check_ours(path)
    unfinished = path.with_name(f".{path.name}.{source.parent.name}")
    try:
        unfinished.touch(mode=0o600)
        shutil.copyfile(source, unfinished)
        unfinished.replace(path)
    except OSError as error:
        raise _refused(path, error) from None
    text = path.read_bytes()
    try:
        yield
    finally:
        if path.exists() and path.read_bytes() == text:  # else another cluster has taken it over
            path.unlink()


def _refused(path: Path, error: OSError) -> BadInput:
    return BadInput(f"--kubeconfig {path}: cannot be written: {error.strerror}")
