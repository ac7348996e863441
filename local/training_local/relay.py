"""Passing bytes between two connections, each direction for as long as there are any."""

from __future__ import annotations

import asyncio
import socket
import struct
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
        self._reader, self._writer = reader, writer

    async def read(self) -> bytes:
        """Return what has arrived; nothing at the end."""
        return await self._reader.read(BLOCK)

    async def write(self, data: bytes) -> None:
        """Send, and wait while the other side is slow."""
        self._writer.write(data)
        await self._writer.drain()

    async def finish(self) -> None:
        """Say that nothing more will be sent."""
        self._writer.write_eof()

    async def reset(self) -> None:
        """Give it up; the other side learns that it was no orderly end."""
        connection: socket.socket = self._writer.get_extra_info("socket")
        with suppress(OSError):
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
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
