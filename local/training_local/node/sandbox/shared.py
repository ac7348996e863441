"""Pods without namespaces: ordinary processes of this machine, found again by their session and a mark."""
# Importing pathlib would add a third to the start of every supervisor.
# ruff: noqa: PTH123

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress

from training_local.node.sandbox import syscalls
from training_local.node.sandbox.children import Child, fork
from training_local.node.sandbox.messages import ContainerSpec, PodSpec, Setup

MARK = "TRAINING_LOCAL_CONTAINER"


class SharedPods:
    """Starts containers as plain process sessions; the node has rewritten names and ports before."""

    def __init__(self, setup: Setup) -> None:
        self.missing = {"isolation": f"mode {setup.mode} was chosen"}
        self._marks: dict[int, str] = {}
        if sys.platform == "linux":
            syscalls.adopt_orphans()

    def add(self, spec: PodSpec) -> None:
        """Nothing is shared by the containers of a pod here."""

    def spawn(self, spec: ContainerSpec, streams: Sequence[int]) -> Child:
        """Start a container in a session of its own, marked in its environment."""
        marked = spec._replace(env={**spec.env, MARK: spec.id})
        child = fork(_die_with_supervisor, marked, streams)
        self._marks[child.pid] = spec.id
        return child

    def end(self, pid: int) -> None:
        """Kill what is left of a container whose first process has ended, also what left its session."""
        mark = f"{MARK}={self._marks.pop(pid)}".encode()
        with suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)
        for leftover in [other for other in _processes() if mark in _environment(other)]:
            with suppress(ProcessLookupError):
                os.kill(leftover, signal.SIGKILL)

    def remove(self, pod_id: str) -> None:
        """Nothing is kept for a pod here."""

    def close(self) -> None:
        """End every container, and the orphans this process has adopted from them."""
        for pid in list(self._marks):
            self.end(pid)


def _die_with_supervisor() -> None:
    if sys.platform == "linux":
        syscalls.die_with_parent(signal.SIGKILL)


def _processes() -> Iterator[int]:
    with suppress(FileNotFoundError), os.scandir("/proc") as entries:
        for entry in entries:
            if entry.name.isdigit():
                yield int(entry.name)


def _environment(pid: int) -> Sequence[bytes]:
    """The variables a process was started with; none for a process that has ended or belongs to somebody else."""
    with suppress(OSError):
        descriptor = os.open(f"/proc/{pid}/environ", os.O_RDONLY)
        with open(descriptor, "rb") as file:
            return file.read().split(b"\0")
    return ()
