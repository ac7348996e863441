"""Pods without namespaces: ordinary processes of this machine, found again by their session and a mark."""

from __future__ import annotations

import errno
import os
import signal
import socket
import sys
from collections.abc import Collection, Sequence
from contextlib import suppress

from training_local.node.sandbox import syscalls
from training_local.node.sandbox.children import Child, fork
from training_local.node.sandbox.messages import BACKLOG, ContainerSpec, ExecSpec, PodSpec, Setup
from training_local.node.sandbox.orphans import CLUSTER, CONTAINER, processes_with


class SharedPods:
    """Starts containers as plain process sessions; the node has rewritten names and ports before."""

    def __init__(self, setup: Setup) -> None:
        self.missing = {"isolation": f"mode {setup.mode} was chosen"}
        self._cluster = setup.cluster
        self._marks: dict[int, str] = {}
        if sys.platform == "linux":
            syscalls.adopt_orphans()

    def add(self, spec: PodSpec) -> None:
        """Nothing is shared by the containers of a pod here."""

    def spawn(self, spec: ContainerSpec, streams: Sequence[int]) -> Child:
        """Start a container in a session of its own, marked in its environment."""
        marks = {CONTAINER: spec.id, CLUSTER: self._cluster}
        child = fork(_die_with_supervisor, spec._replace(env={**spec.env, **marks}), streams)
        self._marks[child.pid] = spec.id
        return child

    def spawn_inside(self, spec: ExecSpec, pid: int, streams: Sequence[int]) -> Child:
        """Start a further program of a container; it bears the container's mark, so that it ends with it."""
        marks = {CONTAINER: spec.container, CLUSTER: self._cluster}
        return fork(_die_with_supervisor, spec._replace(env={**spec.env, **marks}), streams, terminal=spec.terminal)

    def open_terminal(self, pod_id: str) -> Sequence[int]:
        """Open a terminal: both of its ends."""
        return os.openpty()

    def open_listener(self, port: int) -> int:
        """Open a socket that listens on a free port of the loopback interface, whichever is asked for."""
        return socket.create_server(("127.0.0.1", 0), backlog=BACKLOG).detach()

    def open_datagrams(self, port: int) -> int:
        """Fail: pods use the machine's resolver."""
        raise OSError(errno.EOPNOTSUPP, "pods without a network of their own use the machine's")

    def open_socket(self, pod_id: str, family: int) -> int:
        """Open a TCP socket."""
        return socket.socket(family).detach()

    def end(self, pids: Collection[int]) -> None:
        """Kill what is left of containers whose first processes have ended, also what left their sessions."""
        marks = {f"{CONTAINER}={self._marks.pop(pid)}" for pid in pids}
        for pid in pids:
            with suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)
        for leftover in processes_with(marks):
            with suppress(ProcessLookupError):
                os.kill(leftover, signal.SIGKILL)

    def remove(self, pod_id: str) -> None:
        """Nothing is kept for a pod here."""

    def close(self) -> None:
        """End every container, and the orphans this process has adopted from them."""
        self.end([*self._marks])


def _die_with_supervisor() -> None:
    if sys.platform == "linux":
        syscalls.die_with_parent(signal.SIGKILL)
