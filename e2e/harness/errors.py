"""What a developer is told when no control plane can be had."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager


class HarnessError(Exception):
    """A test cluster cannot be provided; the message is one sentence that says why and what would help."""


@contextmanager
def told(program: str, status: int = 2) -> Iterator[None]:
    """End the process with this status, and the sentence of a `HarnessError`, where there is one."""
    try:
        yield
    except HarnessError as error:
        print(f"{program}: {error}", file=sys.stderr)
        sys.exit(status)
