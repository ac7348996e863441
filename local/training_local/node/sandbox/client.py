"""The node's side of a sandbox: starting supervisor programs and asking them for pods and containers."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import socket
import sys
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import training_local
from training_local.node.sandbox.messages import ContainerSpec, ExecSpec, PodSpec, Setup, encode
from training_local.node.sandbox.orphans import CLUSTER, OPEN_FILES
from training_operator.descriptors import SOFT_LIMIT_AT_START

# The program needs none of site-packages and none of the user's settings; it appends the folder of this package itself.
_BOOT = (
    "import sys; sys.path.append(sys.argv[1]); from training_local.node.sandbox import supervisor; supervisor.main()"
)
_PACKAGE_FOLDER = str(Path(training_local.__file__).parent.parent)
_LINE_LIMIT = 1 << 20
_MOST_DESCRIPTORS = 16
_GONE = "the sandbox has ended"


class SandboxError(Exception):
    """A sandbox, pod or container could not be made; the text says why."""


@dataclass(frozen=True, slots=True)
class Exit:
    """How a container's process ended, as container runtimes report it: a signal adds 128 to its number."""

    code: int
    signal: int = 0
    reason: str = ""
    """Why, if it is known better than from the code (`OOMKilled`)."""


LOST = Exit(code=137, signal=9)
"""What is reported for processes that were killed together with their supervisor."""


class Process:
    """A running container, or a further program inside one."""

    def __init__(self, supervisor: Supervisor, id: str) -> None:
        self.id = id
        self._supervisor = supervisor
        self.started: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self.exited: asyncio.Future[Exit] = asyncio.get_running_loop().create_future()

    @property
    def place(self) -> tuple[int, int]:
        """Process id of the supervisor program, and that of the started container's first process as it sees it."""
        return self._supervisor.pid, self.started.result()

    def signal(self, number: int) -> None:
        """Send a signal to the process; nothing happens if it has ended."""
        self._supervisor.send("signal", id=self.id, number=number)


class Supervisor:
    """A running supervisor program."""

    def __init__(self, process: asyncio.subprocess.Process, connection: socket.socket) -> None:
        self.missing: Mapping[str, str] = {}
        """Capabilities that this machine lacks, with the reason."""
        self.alive = True
        self._process = process
        self._socket = connection
        self._outbox: deque[tuple[bytes, Sequence[int]]] = deque()
        self._pods: dict[str, asyncio.Future[None]] = {}
        self._removals: dict[str, asyncio.Future[None]] = {}
        self._processes: dict[str, Process] = {}
        self._openings: dict[str, asyncio.Future[tuple[int, ...]]] = {}
        self._numbers = itertools.count()
        self._descriptors: deque[int] = deque()
        self._buffer = b""
        self._hello: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(connection, self._receive)

    @classmethod
    async def launch(cls, setup: Setup) -> Supervisor:
        """Start a supervisor program; raises `SandboxError` if this machine denies the sandbox."""
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        with theirs:
            command = (sys.executable, "-I", "-S", "-c", _BOOT, _PACKAGE_FOLDER, str(theirs.fileno()))
            try:
                process = await asyncio.create_subprocess_exec(
                    *command,
                    stdin=asyncio.subprocess.DEVNULL,
                    pass_fds=[theirs.fileno()],
                    start_new_session=True,
                    env={**os.environ, CLUSTER: setup.cluster, OPEN_FILES: str(SOFT_LIMIT_AT_START)},
                )
            except OSError as error:
                ours.close()
                raise SandboxError(f"the supervisor program cannot be started: {error}") from error
        supervisor = cls(process, ours)
        supervisor.send("setup", **setup._asdict())
        try:
            await supervisor._hello
        except BaseException:
            await supervisor.close()
            raise
        return supervisor

    @property
    def pid(self) -> int:
        """The program's process id."""
        return self._process.pid

    async def add_pod(self, spec: PodSpec) -> None:
        """Make what the pod's containers share; raises `SandboxError`."""
        done = self._pods[spec.id] = self._loop.create_future()
        self.send("pod", **spec._asdict())
        await done

    async def start(self, spec: ContainerSpec, streams: Sequence[int]) -> Process:
        """Execute a container's program with `streams` as standard output and error, which are not closed here.

        Raises `SandboxError` if the program cannot be executed.
        """
        process = self._processes[spec.id] = Process(self, spec.id)
        self.send("start", streams, **spec._asdict())
        await process.started
        return process

    async def execute(self, spec: ExecSpec, streams: Sequence[int]) -> Process:
        """Execute a further program in a running container; `streams` are its input, output and error, not closed here.

        Raises `SandboxError` if the program cannot be executed, or the container does not run.
        """
        process = self._processes[spec.id] = Process(self, spec.id)
        self.send("exec", streams, **spec._asdict())
        await process.started
        return process

    async def open_terminal(self, pod_id: str) -> tuple[int, int]:
        """Open a terminal of a pod: the end to read and write, and the end for a program. Raises `SandboxError`."""
        ours, theirs = await self._open("terminal", pod_id)
        return ours, theirs

    async def open_socket(self, pod_id: str, family: int = socket.AF_INET) -> socket.socket:
        """Open a TCP socket of a pod's network. Raises `SandboxError`."""
        return await self._open_socket("socket6" if family == socket.AF_INET6 else "socket", pod_id)

    async def open_listener(self, port: int) -> socket.socket:
        """Open a socket that listens where all pods reach it. Raises `SandboxError`."""
        return await self._open_socket("listener", "", port)

    async def open_datagrams(self, port: int) -> socket.socket:
        """Open a UDP socket where all pods reach it. Raises `SandboxError`."""
        return await self._open_socket("datagrams", "", port)

    async def _open_socket(self, what: str, pod_id: str, port: int = 0) -> socket.socket:
        (descriptor,) = await self._open(what, pod_id, port)
        opened = socket.socket(fileno=descriptor)
        opened.setblocking(False)
        return opened

    async def _open(self, what: str, pod_id: str, port: int = 0) -> tuple[int, ...]:
        if not self.alive:
            raise SandboxError(_GONE)
        id = str(next(self._numbers))
        opening: asyncio.Future[tuple[int, ...]] = self._loop.create_future()
        self._openings[id] = opening
        self.send("open", id=id, pod=pod_id, what=what, port=port)
        return await opening

    async def remove_pod(self, pod_id: str) -> None:
        """Kill the pod's containers, wait until they have gone and give its namespaces up; may be asked again."""
        if not self.alive:
            return
        if pod_id not in self._removals:
            self._removals[pod_id] = self._loop.create_future()
            self.send("remove", id=pod_id)
        # One who gives up waiting must not take the answer from those who come later.
        await asyncio.shield(self._removals[pod_id])

    async def close(self) -> None:
        """Hang up and wait until the program and everything it has started have gone."""
        self._hang_up()
        await self._process.wait()

    def send(self, operation: str, streams: Sequence[int] = (), **fields: object) -> None:
        """Queue a message; it is dropped if the program has gone."""
        if self.alive:
            self._outbox.append((encode(operation, **fields), streams))
            self._flush()

    def _flush(self) -> None:
        try:
            while self._outbox:
                data, streams = self._outbox[0]
                sent = socket.send_fds(self._socket, [data], streams) if streams else self._socket.send(data)
                if sent == len(data):
                    self._outbox.popleft()
                else:
                    self._outbox[0] = (data[sent:], ())
        except BlockingIOError:
            self._loop.add_writer(self._socket, self._flush)
        except OSError:
            self._hang_up()
        else:
            self._loop.remove_writer(self._socket)

    def _receive(self) -> None:
        try:
            data, descriptors, _, _ = socket.recv_fds(
                self._socket, _LINE_LIMIT, _MOST_DESCRIPTORS, getattr(socket, "MSG_CMSG_CLOEXEC", 0)
            )
        except BlockingIOError:
            return
        except OSError:
            data, descriptors = b"", []
        self._descriptors.extend(descriptors)
        if not data:
            self._hang_up()
            return
        *lines, self._buffer = (self._buffer + data).split(b"\n")
        for line in lines:
            message = json.loads(line)
            getattr(self, "_on_" + message.pop("op"))(**message)

    def _on_hello(self, error: str, missing: dict[str, str]) -> None:
        self.missing = missing
        _settle(self._hello, error)

    def _on_ready(self, id: str, missing: dict[str, str]) -> None:
        self.missing = missing
        _settle(self._pods.pop(id))

    def _on_rejected(self, id: str, error: str) -> None:
        _settle(self._pods.pop(id), error)

    def _on_started(self, id: str, pid: int) -> None:
        started = self._processes[id].started
        if not started.done():
            started.set_result(pid)

    def _on_failed(self, id: str, error: str) -> None:
        _settle(self._processes.pop(id).started, error)

    def _on_exited(self, id: str, code: int, signal: int) -> None:
        if process := self._processes.pop(id, None):  # else its start has failed
            _resolve(process.exited, Exit(code, signal))

    def _on_opened(self, id: str, count: int) -> None:
        descriptors = tuple(self._descriptors.popleft() for _ in range(count))
        opening = self._openings.pop(id)
        if opening.cancelled():
            for descriptor in descriptors:
                os.close(descriptor)
        else:
            opening.set_result(descriptors)

    def _on_unopened(self, id: str, error: str) -> None:
        _settle(self._openings.pop(id), error)

    def _on_removed(self, id: str) -> None:
        _resolve(self._removals.pop(id), None)

    def _hang_up(self) -> None:
        if not self.alive:
            return
        self.alive = False
        self._loop.remove_reader(self._socket)
        self._loop.remove_writer(self._socket)
        self._socket.close()
        self._outbox.clear()
        starts = [process.started for process in self._processes.values()]
        waiting: list[asyncio.Future[Any]] = [self._hello, *self._pods.values(), *starts, *self._openings.values()]
        for future in waiting:
            _settle(future, _GONE)
        for process in self._processes.values():
            _resolve(process.exited, LOST)
        for removal in self._removals.values():
            _resolve(removal, None)


def _resolve(future: asyncio.Future[Any], value: object) -> None:
    if not future.done():
        future.set_result(value)


def _settle(future: asyncio.Future[Any], error: str = "") -> None:
    if future.done():
        return
    if error:
        future.set_exception(SandboxError(error))
        with suppress(SandboxError):
            future.exception()  # there may be no task that waits
    else:
        future.set_result(None)
