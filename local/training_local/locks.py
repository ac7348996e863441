"""Locks on files, which the kernel releases with the process that holds them, however it ends."""

from __future__ import annotations

import os
import sys
from pathlib import Path

if sys.platform != "win32":
    import fcntl


def take(descriptor: int) -> None:
    """Wait for the lock of an open file, and hold it until the file is closed."""
    if sys.platform != "win32":
        fcntl.flock(descriptor, fcntl.LOCK_EX)


def held(file: Path) -> bool:
    """Whether a process holds the lock of a file; none does on Windows, where no cluster runs."""
    try:
        descriptor = os.open(file, os.O_RDONLY)
    except (FileNotFoundError, NotADirectoryError):
        return False
    try:
        if sys.platform != "win32":
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False
