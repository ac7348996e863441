"""Marks in the environment by which processes are found again that have left their parent and session."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress

CLUSTER = "TRAINING_LOCAL_CLUSTER"
"""Carries the id of the cluster: on supervisors, and in mode `host` on containers."""
CONTAINER = "TRAINING_LOCAL_CONTAINER"
"""Carries the id of the container, in mode `host`."""
OPEN_FILES = "TRAINING_LOCAL_OPEN_FILES"
"""Carries, on supervisors, how many files a container's process may have open until it asks for more."""


def processes_with(marks: Collection[str]) -> list[int]:
    """Return the processes with one of `marks` (NAME=value) in the environment that they were started with.

    Each call reads the environment of every process, so ask for many at once.
    """
    wanted = {mark.encode() for mark in marks}
    return [pid for pid in _processes() if not wanted.isdisjoint(_environment(pid))] if wanted else []


def _processes() -> Iterator[int]:
    with suppress(FileNotFoundError), os.scandir("/proc") as entries:
        for entry in entries:
            if entry.name.isdigit():
                yield int(entry.name)


def _environment(pid: int) -> Sequence[bytes]:
    """The variables a process was started with; none for a process that has ended or belongs to another user."""
    with suppress(OSError):
        descriptor = os.open(f"/proc/{pid}/environ", os.O_RDONLY)
        with open(descriptor, "rb") as file:
            return file.read().split(b"\0")
    return ()
