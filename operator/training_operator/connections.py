"""The connections of an HTTP server: who asks for nothing is let go after seconds, and few of those are kept."""

from __future__ import annotations

import asyncio
import errno
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any, Final

import structlog
from aiohttp import web

from training_operator import descriptors

SECONDS_TO_ASK: Final = 10.0
"""How long a new connection may take until its first request; the handshake of TLS may take as long."""
PAUSE_SECONDS: Final = 0.1
"""After a connection could not be accepted."""
SILENCE_SECONDS: Final = 60.0
"""Between two warnings."""
CLOSING_SECONDS: Final = 1.0
NO_SUCH_FAMILY: Final = (errno.EAFNOSUPPORT, errno.EADDRNOTAVAIL)
"""Where IPv6 is switched off, `::` has one of these."""

Handler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]


@dataclass(frozen=True, slots=True)
class _Idle:
    """A connection without a request in work, or on its way through the handshake of TLS."""

    end: Callable[[], object]
    timer: asyncio.TimerHandle | None = None


class Connections(web.Server):
    """An HTTP server that bears any number of connections.

    A connection is idle unless a request of it is in work. Where there are too many idle ones, the one that has been
    idle longest is closed; watches and whatever else is in work never are.
    """

    def __init__(
        self, handler: Handler, *, idle_most: int, seconds_to_ask: float = SECONDS_TO_ASK, **options: Any
    ) -> None:
        """Keep `idle_most` idle connections, or fewer where this process may have few open files."""
        super().__init__(self._answer, access_log=None, **options)
        self._handler = handler
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

    async def close(self) -> None:
        """End all connections; what is in work has a second to end by itself."""
        for key, idle in tuple(self._idle.items()):
            if isinstance(key, asyncio.Task):
                idle.end()
        await asyncio.sleep(0)  # requests that are there have begun
        self.pre_shutdown()
        await self.shutdown(CLOSING_SECONDS)

    def connection_made(self, handler: web.RequestHandler, transport: asyncio.Transport) -> None:
        """Begin to wait for the first request (called by the protocol)."""
        super().connection_made(handler, transport)
        self._rest(handler, _Idle(transport.abort, self._loop.call_later(self._seconds_to_ask, transport.abort)))

    def connection_lost(self, handler: web.RequestHandler, exc: BaseException | None = None) -> None:
        """Forget a connection (called by the protocol)."""
        super().connection_lost(handler, exc)
        self._work(handler)

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        self._work(request.protocol)
        try:
            return await self._handler(request)
        finally:
            if request.transport is not None:
                self._rest(request.protocol, _Idle(request.transport.abort))

    def _work(self, key: object) -> None:
        idle = self._idle.pop(key, None)
        if idle is not None and idle.timer is not None:
            idle.timer.cancel()

    def _rest(self, key: object, idle: _Idle) -> None:
        self._idle[key] = idle
        if len(self._idle) > self._idle_most:
            self._close_longest_idle()
            self._warn("connections closed: too many are idle")

    def _close_longest_idle(self) -> None:
        for key, idle in tuple(self._idle.items())[:1]:
            self._work(key)
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
                await self._loop.connect_accepted_socket(self, accepted, ssl=tls, ssl_handshake_timeout=seconds)
        finally:
            self._work(asyncio.current_task())


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
