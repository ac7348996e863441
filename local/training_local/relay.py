"""Passing bytes between two connections, each direction for as long as there are any."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final, Protocol

BLOCK: Final = 1 << 16
IDLE_SECONDS: Final = 4 * 3600.0
"""After so long without a byte a connection is given up, as kubelets do it."""


class End(Protocol):
    """One side: a connection, or a stream of one. All raise `OSError` when it is broken."""

    async def read(self) -> bytes:
        """Return what has arrived, as soon as there is anything; nothing at the end."""
        ...

    async def write(self, data: bytes) -> None:
        """Send, and wait while the other side is slow."""
        ...

    async def finish(self) -> None:
        """Say that nothing more will be sent."""
        ...

    async def reset(self) -> None:
        """Give it up in both directions; nothing happens if it is over."""
        ...


class TcpEnd(End):
    """A TCP connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self._writer = reader, writer

    @property
    def socket(self) -> socket.socket:
        """The connection itself, to ask it questions."""
        found: socket.socket = self._writer.get_extra_info("socket")
        return found

    async def read(self) -> bytes:
        """Return what has arrived; nothing at the end."""
        return await self.reader.read(BLOCK)

    async def write(self, data: bytes) -> None:
        """Send, and wait while the other side is slow."""
        self._writer.write(data)
        await self._writer.drain()

    async def finish(self) -> None:
        """Say that nothing more will be sent."""
        self._writer.write_eof()

    async def reset(self) -> None:
        """Give it up; the other side learns that it was no orderly end."""
        with suppress(OSError):
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._writer.transport.abort()

    def close(self) -> None:
        """End it once everything has been sent."""
        self._writer.close()


async def relay(one: End, other: End, idle: float = IDLE_SECONDS) -> None:
    """Pass bytes both ways until both sides have finished; where either breaks, or both are idle, give both up."""
    whole = False
    try:
        async with asyncio.timeout(idle) as limit, asyncio.TaskGroup() as tasks:
            tasks.create_task(_copy(one, other, limit, idle))
            tasks.create_task(_copy(other, one, limit, idle))
        whole = True
    except* OSError:  # TimeoutError is one
        pass
    finally:
        if not whole:
            await _reset(one, other)


async def _copy(source: End, target: End, limit: asyncio.Timeout, idle: float) -> None:
    now = asyncio.get_running_loop().time
    while data := await source.read():
        await target.write(data)
        limit.reschedule(now() + idle)
    await target.finish()


async def _reset(*ends: End) -> None:
    for end in ends:
        with suppress(OSError):
            await end.reset()


class Service:
    """Serves those who connect, so many at a time at most; whoever comes then is sent away."""

    def __init__(self, serve: Callable[[TcpEnd], Awaitable[None]], most: int) -> None:
        """`serve` may raise `OSError`: then the other side learns that something is broken."""
        self._serve, self._most = serve, most
        self._served: set[asyncio.Task[object]] = set()

    async def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve a connection to its end (called by `asyncio.start_server`)."""
        end, task = TcpEnd(reader, writer), asyncio.current_task()
        assert task is not None
        if len(self._served) >= self._most:
            await end.reset()
            return
        self._served.add(task)
        try:
            await self._serve(end)
        except OSError:
            await end.reset()
        finally:
            self._served.discard(task)
            end.close()

    async def close(self) -> None:
        """End all connections."""
        for task in self._served:
            task.cancel()
        await asyncio.gather(*self._served, return_exceptions=True)
