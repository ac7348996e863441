"""How many files a process may have open: a connection is one."""

from __future__ import annotations

import os
import resource
import sys
from contextlib import suppress
from typing import Final

STANDARD_ERROR: Final = 2
SOFT_LIMIT_AT_START: Final = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
"""What the programs that we start are given back: some do something with every descriptor that they could have."""


def open_standard_streams() -> None:
    """Let nothing else take the numbers 0 to 2 where they have been closed: a library prints to them, or aborts."""
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= STANDARD_ERROR:
        pass
    os.close(descriptor)


def soft_limit() -> int:
    """Return how many files this process may have open now."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return soft if soft != resource.RLIM_INFINITY else sys.maxsize


def raise_soft_limit() -> None:
    """Allow this process as many open files as it may allow itself."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(ValueError, OSError):  # systems on which the kernel has a limit of its own
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
