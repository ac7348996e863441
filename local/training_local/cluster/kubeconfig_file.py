"""A kubeconfig where the user wants it, without harm to one that is there already."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from training_local.apiserver.kubeconfig import FIRST_LINE
from training_local.errors import BadInput

_NOTE: Final = "kubeconfig.copy"


def check_ours(path: Path) -> None:
    """Raise `BadInput` if there is a file that this program has not written."""
    try:
        if path.exists() and not path.read_text(errors="replace").startswith(FIRST_LINE):
            raise BadInput(f"--kubeconfig {path}: exists and was not written by this program; name a new file")
    except OSError as error:
        raise _rejected(path, error) from None


@contextmanager
def placed(source: Path, path: Path) -> Iterator[None]:
    """Have a copy of the kubeconfig `source` at `path` inside the context; raises `BadInput` if that cannot be.

    A note beside `source` says where it is, for `remove_copy` after this process has been killed.
    """
    check_ours(path)
    unfinished = path.with_name(f".{path.name}.{source.parent.name}")
    try:
        source.with_name(_NOTE).write_text(str(path))
        unfinished.touch(mode=0o600)
        shutil.copyfile(source, unfinished)
        unfinished.replace(path)
    except OSError as error:
        raise _rejected(path, error) from None
    try:
        yield
    finally:
        remove_copy(source)


def remove_copy(source: Path) -> None:
    """Remove the copy of a kubeconfig, unless another cluster has taken its place."""
    with suppress(OSError):
        copy = Path(source.with_name(_NOTE).read_text())
        if copy.read_bytes() == source.read_bytes():
            copy.unlink()


def _rejected(path: Path, error: OSError) -> BadInput:
    return BadInput(f"--kubeconfig {path}: cannot be written: {error.strerror}")
