"""The Python that pods find as `python`: what `--python` may name."""

from __future__ import annotations

import os
from pathlib import Path

from training_local.apply import BadInput


def interpreter(path: Path) -> Path:
    """Return the interpreter that `path` is, or that is in the virtual environment `path`; `BadInput` if there is none.

    Links are not resolved: a virtual environment's Python knows its packages by its own place.
    """
    path = path.expanduser().absolute()
    if path.is_dir():
        found = next((path / "bin" / name for name in ("python", "python3") if (path / "bin" / name).exists()), None)
        if found is None:
            raise BadInput(f"--python {path}: the folder is no virtual environment: it has no bin/python")
        path = found
    if not path.exists():
        raise BadInput(f"--python {path}: there is no such file")
    if not path.is_file() or not os.access(path, os.X_OK):
        raise BadInput(f"--python {path}: is not executable")
    return path
