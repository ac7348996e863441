"""The process table of this machine, read once, and which of its processes belong to a container."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from training_local.node.sandbox.orphans import CONTAINER

PROC = Path("/proc")

_TICK = 1 / os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")
# Fields of /proc/PID/stat after the program's name, see proc(5).
_PARENT, _TIMES, _RESIDENT = 1, slice(11, 15), 21


class Process(NamedTuple):
    """A row of the table."""

    parent: int
    cpu_seconds: float
    """Of the process and of its children that have been waited for."""
    resident_bytes: int


class ProcessTable:
    """What `/proc` said at one moment."""

    def __init__(self, proc: Path = PROC) -> None:
        """Read the table: some 10 us for each process of the machine."""
        self._proc = proc
        self._rows: dict[int, Process] = {}
        self._children: dict[int, list[int]] = {}
        for entry in proc.iterdir() if proc.is_dir() else ():
            if entry.name.isdigit() and (row := _read(entry / "stat")):
                self._rows[int(entry.name)] = row
                self._children.setdefault(row.parent, []).append(int(entry.name))

    def family(self, first: int) -> Iterator[int]:
        """A process, if it lives, and all its descendants."""
        todo = [first] if first in self._rows else []
        while todo:
            yield (pid := todo.pop())
            todo += reversed(self._children.get(pid, ()))

    def of_supervisor(self, supervisor: int, mode: str) -> Mapping[int, list[int]]:
        """The processes of each container: by the id that the supervisor program knows its first process by.

        In mode `netns` the program's only child is the first of a process-id namespace, and everything that a
        container starts stays below its own first process. In mode `host` orphans come to the program itself, and
        are known by the mark in their environment.
        """
        if mode != "netns":
            return self._on_the_host(supervisor)
        inner = [child for init in self._children.get(supervisor, ()) for child in self._children.get(init, ())]
        return {self._inner_id(pid): list(self.family(pid)) for pid in inner}

    def _inner_id(self, pid: int) -> int:
        with suppress(OSError, IndexError):
            for line in (self._proc / str(pid) / "status").read_text().splitlines():
                if line.startswith("NSpid:"):
                    return int(line.split()[2])
        return 0

    def _on_the_host(self, supervisor: int) -> Mapping[int, list[int]]:
        families: dict[int, list[int]] = {}
        firsts: dict[str, int] = {}
        # Process ids grow, so that a container's first process comes before what it leaves behind.
        for pid in sorted(self._children.get(supervisor, ())):
            first = firsts.setdefault(self._mark(pid), pid)
            families.setdefault(first, []).extend(self.family(pid))
        return families

    def _mark(self, pid: int) -> str:
        with suppress(OSError):
            for variable in (self._proc / str(pid) / "environ").read_bytes().split(b"\0"):
                if variable.startswith(f"{CONTAINER}=".encode()):
                    return variable.decode(errors="replace")
        return str(pid)

    def cpu_seconds(self, pids: list[int]) -> float:
        """The processor time of these processes so far."""
        return sum(self._rows[pid].cpu_seconds for pid in pids)

    def resident_bytes(self, pids: list[int]) -> int:
        """Memory of these processes, pages that several of them share counted several times: an upper bound."""
        return sum(self._rows[pid].resident_bytes for pid in pids)

    def memory_bytes(self, pids: list[int]) -> int:
        """Memory of these processes, shared pages divided among those that share them (proportional set size)."""
        if len(pids) == 1:
            return self.resident_bytes(pids)
        return sum(self._proportional(pid) for pid in pids)

    def _proportional(self, pid: int) -> int:
        with suppress(OSError, ValueError):
            for line in (self._proc / str(pid) / "smaps_rollup").read_text().splitlines():
                if line.startswith("Pss:"):
                    return int(line.split()[1]) * 1024
        return self._rows[pid].resident_bytes


def _read(stat: Path) -> Process | None:
    """A row, None for a process that has just ended."""
    try:
        fields = stat.read_bytes().rpartition(b")")[2].split()
    except OSError:
        return None
    times = sum(int(ticks) for ticks in fields[_TIMES]) * _TICK
    return Process(int(fields[_PARENT]), times, int(fields[_RESIDENT]) * _PAGE)
