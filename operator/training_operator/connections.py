"""The connections of a server: who asks for nothing is let go after seconds, and few of those are kept."""

from __future__ import annotations

import asyncio
import errno
import socket
import ssl
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Final

import structlog

from training_operator import descriptors

SECONDS_TO_ASK: Final = 10.0
"""How long a new connection may take until its first request; the handshake of TLS may take as long."""
PAUSE_SECONDS: Final = 0.1
"""After a connection could not be accepted."""
SILENCE_SECONDS: Final = 60.0
"""Between two warnings."""
NO_SUCH_FAMILY: Final = (errno.EAFNOSUPPORT, errno.EADDRNOTAVAIL)
"""Where IPv6 is switched off, `::` has one of these."""


@dataclass(frozen=True, slots=True)
class _Idle:
    """A connection without a request in work, or on its way through the handshake of TLS."""

    end: Callable[[], object]
    timer: asyncio.TimerHandle | None = None


class Connections:
    """The connections of a server, whatever its protocol, which says when a request of one is in work.

    All others are idle. Where there are too many idle ones, the one that has been idle longest is closed; watches and
    whatever else is in work never are.
    """

    def __init__(
        self, protocol: Callable[[], asyncio.Protocol], *, idle_most: int, seconds_to_ask: float = SECONDS_TO_ASK
    ) -> None:
        """Keep `idle_most` idle connections, or fewer where this process may have few open files."""
        self._loop = asyncio.get_running_loop()
        self._protocol = protocol
        self._seconds_to_ask = seconds_to_ask
        self._idle_most = min(idle_most, descriptors.soft_limit() // 4)
        self._idle: dict[object, _Idle] = {}
        """By task of the handshake or by protocol, the one that has been idle longest first."""
        self._closed = 0
        self._warned = -SILENCE_SECONDS

    @asynccontextmanager
    async def listening(
        self, listeners: Sequence[socket.socket], tls: ssl.SSLContext | None = None
    ) -> AsyncIterator[None]:
        """Serve whoever connects to sockets that listen; they are closed at the end, connections are not."""
        tasks = [self._loop.create_task(self._accept(each, tls)) for each in listeners]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
            for listener in listeners:
                listener.close()

    def close(self, *, handshakes_only: bool = False) -> None:
        """Close all idle connections."""
        for key, idle in tuple(self._idle.items()):
            if isinstance(key, asyncio.Task) or not handshakes_only:
                idle.end()

    def opened(self, protocol: object, transport: asyncio.Transport) -> None:
        """Begin to wait for the first request of a connection."""
        self.rest(protocol, transport, self._seconds_to_ask)

    def work(self, protocol: object) -> None:
        """Note that a request is in work, or that the connection is lost."""
        idle = self._idle.pop(protocol, None)
        if idle is not None and idle.timer is not None:
            idle.timer.cancel()

    def rest(self, protocol: object, transport: asyncio.Transport, seconds: float | None = None) -> None:
        """Note that a connection is idle, and close it after so many seconds."""
        timer = None if seconds is None else self._loop.call_later(seconds, transport.abort)
        self._rest(protocol, _Idle(transport.abort, timer))

    def _rest(self, key: object, idle: _Idle) -> None:
        self._idle[key] = idle
        if len(self._idle) > self._idle_most:
            self._close_longest_idle()
            self._warn("connections closed: too many are idle")

    def _close_longest_idle(self) -> None:
        for key, idle in tuple(self._idle.items())[:1]:
            self.work(key)
            idle.end()
            self._closed += 1

    def _warn(self, event: str, **details: str) -> None:
        if self._loop.time() - self._warned >= SILENCE_SECONDS:
            self._warned = self._loop.time()
            structlog.get_logger().warning(event, closed=self._closed, most=self._idle_most, **details)

    async def _accept(self, listener: socket.socket, tls: ssl.SSLContext | None) -> None:
        listener.setblocking(False)
        while True:
            try:
                accepted, _ = await self._loop.sock_accept(listener)
            except OSError as error:  # too many open files, of this process or all; no memory
                self._close_longest_idle()
                self._warn("a connection cannot be accepted", error=str(error))
                await asyncio.sleep(PAUSE_SECONDS)
                continue
            task = self._loop.create_task(self._establish(accepted, tls))
            self._rest(task, _Idle(task.cancel))
            await asyncio.sleep(0)  # others have their turn, however many connect

    async def _establish(self, accepted: socket.socket, tls: ssl.SSLContext | None) -> None:
        seconds = self._seconds_to_ask if tls else None
        try:
            with suppress(OSError):
                await self._loop.connect_accepted_socket(
                    self._protocol, accepted, ssl=tls, ssl_handshake_timeout=seconds
                )
        finally:
            self.work(asyncio.current_task())


def bound(host: str | None, port: int, backlog: int = 512) -> list[socket.socket]:
    """Return sockets that listen on all addresses of a host, on those of this machine without one; raises `OSError`."""
    found = dict.fromkeys(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE))
    listeners: list[socket.socket] = []
    rejection: OSError | None = None
    for family, _, _, _, address in found:
        try:
            listeners.append(socket.create_server(address, family=family, backlog=backlog))
        except OSError as error:
            rejection = error
            if error.errno not in NO_SUCH_FAMILY:
                break
    if rejection and (not listeners or rejection.errno not in NO_SUCH_FAMILY):
        for listener in listeners:
            listener.close()
        raise rejection
    return listeners
