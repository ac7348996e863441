"""The Python that pods find as `python`: what `--python` may name."""

from __future__ import annotations

from pathlib import Path

from training_local.errors import BadInput
from training_local.node import tools


def interpreter(path: Path) -> Path:
    """Return the interpreter `path`, or the one in the virtual environment `path`; `BadInput` if there is none."""
    try:
        return tools.interpreter(path.expanduser().absolute())
    except ValueError as error:
        raise BadInput(f"--python {error}") from None
