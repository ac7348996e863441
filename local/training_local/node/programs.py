"""Further programs in a running container, for `kubectl exec`, probes and hooks: starting them and their streams."""

from __future__ import annotations

import asyncio
import errno
import fcntl
import itertools
import os
import struct
import termios
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import suppress

from training_local.apiserver.exec import Channels, ExecOptions, OutputName, TerminalSize
from training_local.node.sandbox.client import Process, Supervisor
from training_local.node.sandbox.messages import ContainerSpec, ExecSpec

OUTPUT_SECONDS = 2.0
"""How long the output of an ended process is waited for: another process may hold its pipe."""

_BLOCK = 1 << 15
_numbers = itertools.count()


class Program:
    """A started program and our ends of its streams."""

    def __init__(self, process: Process, stdin: int | None, outputs: Mapping[OutputName, int], terminal: bool) -> None:
        self.process, self.stdin, self.outputs, self.terminal = process, stdin, outputs, terminal
        self._open = {*outputs.values()} | ({stdin} if stdin is not None else set())

    def end_input(self) -> None:
        """Close the program's input; a terminal stays open, for its output."""
        if self.stdin in self._open and not self.terminal:
            self._open.discard(self.stdin)
            os.close(self.stdin)

    def close(self) -> None:
        """Let go of its streams."""
        while self._open:
            os.close(self._open.pop())

    def resize(self, size: TerminalSize) -> None:
        """Give the program's terminal the size of the client's."""
        fcntl.ioctl(self.outputs["stdout"], termios.TIOCSWINSZ, struct.pack("4H", size.height, size.width, 0, 0))


async def launch(
    supervisor: Supervisor,
    container: ContainerSpec,
    argv: Sequence[str],
    *,
    stdin: bool = False,
    terminal: bool = False,
) -> Program:
    """Start a program in a running container, with its environment and folder; raises `SandboxError`."""
    env = {"TERM": "xterm", **container.env} if terminal else container.env
    id = f"{container.id}/exec/{next(_numbers)}"
    spec = ExecSpec(id, container.pod, container.id, argv, env, container.cwd, terminal, container.cgroups)
    if terminal:
        ours, theirs = await supervisor.open_terminal(container.pod)
        os.set_blocking(ours, False)
        return await _start(supervisor, spec, (theirs,), ours, {"stdout": ours})
    source, sink = os.pipe() if stdin else (os.open(os.devnull, os.O_RDONLY), None)
    out, out_end = os.pipe()
    err, err_end = os.pipe()
    for descriptor in (sink, out, err):
        if descriptor is not None:
            os.set_blocking(descriptor, False)
    return await _start(supervisor, spec, (source, out_end, err_end), sink, {"stdout": out, "stderr": err})


async def _start(
    supervisor: Supervisor,
    spec: ExecSpec,
    theirs: Sequence[int],
    stdin: int | None,
    outputs: Mapping[OutputName, int],
) -> Program:
    """Start the program; its own ends are closed here, all others too if it does not start."""
    try:
        process = await supervisor.execute(spec, theirs if len(theirs) > 1 else (*theirs, *theirs, *theirs))
    except BaseException:
        for descriptor in {*outputs.values(), *(() if stdin is None else (stdin,))}:
            os.close(descriptor)
        raise
    finally:
        for descriptor in theirs:
            os.close(descriptor)
    return Program(process, stdin, outputs, spec.terminal)


async def converse(program: Program, options: ExecOptions, streams: Channels) -> int:
    """Connect a program with its client until it has ended; return its exit status.

    Cancelled when the client leaves: the program then continues without streams, as on a cluster.
    """
    wanted: set[OutputName] = {"stdout"} if options.stdout else set()
    if options.stderr:
        wanted.add("stderr")
    try:
        async with asyncio.TaskGroup() as tasks:
            printing = [
                tasks.create_task(_print(descriptor, name, streams if name in wanted else None))
                for name, descriptor in program.outputs.items()
            ]
            hearing = [tasks.create_task(_feed(program, program.stdin, streams))] if program.stdin is not None else []
            if program.terminal:
                hearing.append(tasks.create_task(_follow_sizes(program, streams)))
            ended = await asyncio.shield(program.process.exited)
            await asyncio.wait(printing, timeout=OUTPUT_SECONDS)
            for task in (*printing, *hearing):
                task.cancel()
        return ended.code
    finally:
        program.close()


async def _print(descriptor: int, name: OutputName, streams: Channels | None) -> None:
    async for data in _read(descriptor):
        with suppress(ConnectionError):  # whoever is connected with us will notice
            if streams:
                await streams.output(name, data)


async def _feed(program: Program, descriptor: int, streams: Channels) -> None:
    listening = True
    async for data in streams.input():
        try:
            if listening:
                await _write(descriptor, data)
        except OSError:  # the program has closed its input; what follows is discarded
            listening = False
    program.end_input()


async def _follow_sizes(program: Program, streams: Channels) -> None:
    async for size in streams.sizes():
        program.resize(size)


async def _read(descriptor: int) -> AsyncIterator[bytes]:
    """Yield what comes, until the other side has gone."""
    loop = asyncio.get_running_loop()
    while True:
        try:
            data = os.read(descriptor, _BLOCK)
        except BlockingIOError:
            await _ready(descriptor, loop.add_reader, loop.remove_reader)
            continue
        except OSError as error:
            if error.errno != errno.EIO:  # how a terminal says that no program has it any more
                raise
            return
        if not data:
            return
        yield data


async def _write(descriptor: int, data: bytes) -> None:
    loop, view = asyncio.get_running_loop(), memoryview(data)
    while view:
        try:
            view = view[os.write(descriptor, view) :]
        except BlockingIOError:
            await _ready(descriptor, loop.add_writer, loop.remove_writer)


async def _ready(descriptor: int, add: Callable[..., None], remove: Callable[[int], bool]) -> None:
    """Wait until a descriptor can be read or written; `add` and `remove` are the loop's."""
    ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def settle() -> None:
        if not ready.done():
            ready.set_result(None)

    add(descriptor, settle)
    try:
        await ready
    finally:
        remove(descriptor)


async def output(program: Program, most: int) -> tuple[int, bytes]:
    """Wait for the end of a program; return its exit status and the first `most` bytes of what it has printed."""
    said = bytearray()

    async def take(descriptor: int) -> None:
        async for data in _read(descriptor):
            said.extend(data[: most - len(said)])

    async with asyncio.TaskGroup() as tasks:
        taking = [tasks.create_task(take(descriptor)) for descriptor in program.outputs.values()]
        ended = await asyncio.shield(program.process.exited)
        await asyncio.wait(taking, timeout=OUTPUT_SECONDS)
        for task in taking:
            task.cancel()
    return ended.code, bytes(said)
