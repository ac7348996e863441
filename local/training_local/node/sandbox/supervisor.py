"""The program that owns the pods of one scope: it makes their namespaces, starts their processes and reaps them.

It is started fresh by the node (never forked from it), uses the standard library only, and ends, with all that it
started, when the node hangs up or dies. In mode `netns` it is the first process of a process-id namespace, so the
kernel itself ends every process with it; namespaces, mounts and network cards go with the last of them.
"""

from __future__ import annotations

import os
import selectors
import signal
import socket
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from training_local.node.sandbox import syscalls
from training_local.node.sandbox.children import Child, raise_descriptor_limit
from training_local.node.sandbox.isolated import IsolatedPods, enter_namespaces
from training_local.node.sandbox.messages import Channel, ContainerSpec, ExecSpec, PodSpec, Setup
from training_local.node.sandbox.shared import SharedPods

_OUTPUTS = 2
_STREAMS = 3


Pods = IsolatedPods | SharedPods


class _Running(NamedTuple):
    """A container, or a further program inside one, whose process has not been reaped yet."""

    spec: ContainerSpec | ExecSpec
    report: int
    """Where its start is reported; -1 once it has been read."""


class Supervisor:
    """Carries out the node's requests one at a time and reports every start and end of a container."""

    def __init__(self, channel: Channel, pods: Pods) -> None:
        self._channel = channel
        self._pods = pods
        self._running: dict[int, _Running] = {}
        self._leaving: set[str] = set()
        self._selector = selectors.DefaultSelector()
        self._nothing = os.open("/dev/null", os.O_RDONLY)

    def run(self) -> None:
        """Work until the node hangs up."""
        children, wake = os.pipe()
        os.set_blocking(wake, False)
        os.set_blocking(children, False)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        self._selector.register(self._channel, selectors.EVENT_READ)
        self._selector.register(children, selectors.EVENT_READ)
        while True:
            for key, _ in self._selector.select():
                if key.fileobj is self._channel:
                    if not self._obey():
                        return
                elif key.fd == children:
                    os.read(children, 4096)
                    self._reap()
                elif (child := self._running.get(key.data)) and child.report >= 0:
                    self._read_report(key.data)

    def _obey(self) -> bool:
        messages = self._channel.receive()
        if messages is None:
            return False
        for message in messages:
            getattr(self, "_do_" + message.pop("op"))(**message)
        return True

    def _do_pod(self, **fields: Any) -> None:
        spec = PodSpec(**fields)
        try:
            self._pods.add(spec)
        except OSError as error:
            self._channel.send("rejected", id=spec.id, error=str(error))
        else:
            self._channel.send("ready", id=spec.id, missing=self._pods.missing)

    def _do_start(self, **fields: Any) -> None:
        spec = ContainerSpec(**fields)
        streams = self._channel.take(_OUTPUTS)
        self._spawn(spec, streams, lambda: self._pods.spawn(spec, (self._nothing, *streams)))

    def _do_exec(self, **fields: Any) -> None:
        spec = ExecSpec(**fields)
        streams = self._channel.take(_STREAMS)
        self._spawn(spec, streams, lambda: self._pods.spawn_inside(spec, self._process(spec.container), streams))

    def _spawn(self, spec: ContainerSpec | ExecSpec, streams: Sequence[int], start: Callable[[], Child]) -> None:
        try:
            child = start()
        except (OSError, KeyError) as error:
            self._channel.send("failed", id=spec.id, error=str(error))
            return
        finally:
            for descriptor in streams:
                os.close(descriptor)
        self._running[child.pid] = _Running(spec, child.report)
        self._selector.register(child.report, selectors.EVENT_READ, data=child.pid)

    def _process(self, id: str) -> int:
        for pid, child in self._running.items():
            if child.spec.id == id and child.report < 0:
                return pid
        raise OSError("the container does not run")

    def _do_open(self, id: str, pod: str, what: str, port: int) -> None:
        try:
            ends = self._open(pod, what, port)
        except (OSError, KeyError) as error:
            self._channel.send("unopened", id=id, error=str(error))
        else:
            self._channel.hand_over(ends, "opened", id=id, count=len(ends))

    def _open(self, pod: str, what: str, port: int) -> Sequence[int]:
        if what == "terminal":
            return self._pods.open_terminal(pod)
        if what == "listener":
            return (self._pods.open_listener(port),)
        if what == "datagrams":
            return (self._pods.open_datagrams(port),)
        return (self._pods.open_socket(pod, socket.AF_INET6 if what == "socket6" else socket.AF_INET),)

    def _do_signal(self, id: str, number: int) -> None:
        for pid, child in self._running.items():
            if child.spec.id == id:
                os.kill(pid, number)

    def _do_remove(self, id: str) -> None:
        self._leaving.add(id)
        for pid, child in self._running.items():
            if child.spec.pod == id:
                os.kill(pid, signal.SIGKILL)
        self._let_go(id)

    def _let_go(self, pod_id: str) -> None:
        if pod_id in self._leaving and not any(child.spec.pod == pod_id for child in self._running.values()):
            self._leaving.discard(pod_id)
            self._pods.remove(pod_id)
            self._channel.send("removed", id=pod_id)

    def _read_report(self, pid: int) -> bool:
        """Report to the node whether the program was executed."""
        child = self._running[pid]
        error = os.read(child.report, 65536).decode(errors="replace")
        self._selector.unregister(child.report)
        os.close(child.report)
        self._running[pid] = child._replace(report=-1)
        if error:
            self._channel.send("failed", id=child.spec.id, error=error)
        else:
            self._channel.send("started", id=child.spec.id, pid=pid)
        return not error

    def _reap(self) -> None:
        # Else it is an orphan that a container left.
        ended = {pid: status for pid, status in _ended_children() if pid in self._running}
        self._pods.end([pid for pid in ended if isinstance(self._running[pid].spec, ContainerSpec)])
        for pid, status in ended.items():
            self._report_end(pid, status)

    def _report_end(self, pid: int, status: int) -> None:
        if self._running[pid].report >= 0:
            self._read_report(pid)
        child = self._running.pop(pid)
        if isinstance(child.spec, ContainerSpec):
            self._end_programs_of(child.spec.id)
        code = os.waitstatus_to_exitcode(status)
        number = max(0, -code)
        self._channel.send("exited", id=child.spec.id, code=128 + number if number else code, signal=number)
        self._let_go(child.spec.pod)

    def _end_programs_of(self, container: str) -> None:
        for pid, child in self._running.items():
            if isinstance(child.spec, ExecSpec) and child.spec.container == container:
                with suppress(ProcessLookupError):
                    os.killpg(pid, signal.SIGKILL)


def _ended_children() -> Iterator[tuple[int, int]]:
    """The children that have ended, each with its status."""
    with suppress(ChildProcessError):
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            yield ended


def _serve(channel: Channel, setup: Setup) -> None:
    try:
        pods: Pods = IsolatedPods(setup) if setup.mode == "netns" else SharedPods(setup)
    except OSError as error:
        channel.send("hello", error=str(error), missing={})
        return
    try:
        channel.send("hello", error="", missing=pods.missing)
        Supervisor(channel, pods).run()
    except (BrokenPipeError, ConnectionResetError):
        pass  # the node has gone in the middle of a sentence
    finally:
        pods.close()


def main() -> None:
    """Serve the node at the other end of the socket whose descriptor is the last argument."""
    raise_descriptor_limit()
    connection = socket.socket(fileno=int(sys.argv[-1]))
    connection.set_inheritable(False)
    channel = Channel(connection)
    (first,) = channel.receive() or ({},)
    first.pop("op")
    setup = Setup(**first)
    if setup.mode == "netns":
        _serve_isolated(channel, setup)
    else:
        _serve(channel, setup)


def _serve_isolated(channel: Channel, setup: Setup) -> None:
    try:
        enter_namespaces()
    except OSError as error:
        channel.send("hello", error=str(error), missing={})
        return
    syscalls.die_with_parent(signal.SIGKILL)
    if pid := os.fork():
        channel.close()
        os.waitpid(pid, 0)  # returns when every process of the namespace has gone
        return
    syscalls.die_with_parent(signal.SIGKILL)
    _serve(channel, setup)
