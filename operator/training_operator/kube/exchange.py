"""Requests with their whole answers over kept connections: nearly all that the operator sends.

aiohttp does the same in three to four times the CPU time; it keeps streams and proxies, see `http`.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from collections import deque
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, Final, cast
from urllib.parse import urlsplit

import aiohappyeyeballs
import httptools

from training_operator.kube.config import ClusterConfig
from training_operator.kube.transport import Response

CONNECT_SECONDS: Final = 10.0
KEPT_SECONDS: Final = 60.0
"""An API server closes idle connections after 90 s; a request must not meet that."""
SECOND_ADDRESS_SECONDS: Final = 0.25
"""After which the next address of a name is tried as well (RFC 8305)."""
UNACKNOWLEDGED_SECONDS: Final = 5
"""Unacknowledged data is dropped after so long: a write of a leader must not arrive when another one leads."""
SOCKET_OPTIONS: Final = {
    "TCP_KEEPIDLE": 30,
    "TCP_KEEPINTVL": 10,
    "TCP_KEEPCNT": 3,
    "TCP_USER_TIMEOUT": 1000 * UNACKNOWLEDGED_SECONDS,
}
"""A peer that vanished without a word is noticed within a minute, not at the end of the watch."""


class NotAllowed(ConnectionError):
    """The time in which a request was allowed is over: it was not sent."""

    def __init__(self) -> None:
        super().__init__("the request is not sent: the time in which it was allowed is over")


def open_socket(address: tuple[Any, ...]) -> socket.socket:
    """Return a socket that asks a silent peer whether it is still there."""
    family, kind, protocol, *_ = address
    made = socket.socket(family, kind, protocol)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    # Closing drops what is not yet sent: of a process that has ended, nothing may arrive.
    made.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    for name, value in SOCKET_OPTIONS.items():
        if hasattr(socket, name):  # Linux has all of them
            made.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
    return made


class Connections:
    """The connections to one API server, each with one request at a time."""

    def __init__(self, config: ClusterConfig, most: int) -> None:
        """Use at most so many at once; 0 for any number."""
        address = urlsplit(config.server)
        self._host = address.hostname or ""
        self._port = address.port or (443 if config.tls else 80)
        self._tls = config.tls
        self._server_name = (config.server_name or self._host) if config.tls else None
        self._room = asyncio.Semaphore(most) if most else nullcontext()
        self._idle: deque[tuple[float, _Connection]] = deque()

    async def exchange(self, head: bytes, body: bytes, allowed: Callable[[], bool] | None) -> Response:
        """Send a request and return its answer, unless it is not `allowed` once it is connected; raises `OSError`."""
        async with self._room:
            connection = self._kept() or await self._opened()
            try:
                if allowed is not None and not allowed():
                    raise NotAllowed
                answer = await connection.exchange(head + body)
            except NotAllowed:
                self._keep(connection)
                raise
            except BaseException:
                connection.abort()
                raise
            self._keep(connection)
            return answer

    def close(self) -> None:
        """Close the connections that wait for a request."""
        while self._idle:
            self._idle.pop()[1].abort()

    def _kept(self) -> _Connection | None:
        """Return the connection that was used last, and close those that have been idle for long."""
        now = asyncio.get_running_loop().time()
        while self._idle and now - self._idle[0][0] > KEPT_SECONDS:
            self._idle.popleft()[1].abort()
        while self._idle:
            _, connection = self._idle.pop()
            if connection.reusable:
                return connection
        return None

    def _keep(self, connection: _Connection) -> None:
        if connection.reusable:
            self._idle.append((asyncio.get_running_loop().time(), connection))
        else:
            connection.abort()

    async def _opened(self) -> _Connection:
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(CONNECT_SECONDS):
            found = await loop.getaddrinfo(self._host, self._port, type=socket.SOCK_STREAM)
            made = await aiohappyeyeballs.start_connection(
                found, happy_eyeballs_delay=SECOND_ADDRESS_SECONDS, socket_factory=open_socket
            )
            _, connection = await loop.create_connection(
                _Connection, sock=made, ssl=self._tls, server_hostname=self._server_name
            )
        return connection


class _Connection(asyncio.Protocol):
    """One connection; the parser calls its `on_` methods."""

    def __init__(self) -> None:
        self.reusable = True
        """Whether another request may be sent."""
        self._transport: asyncio.Transport | None = None
        self._parser = httptools.HttpResponseParser(self)
        self._answer: asyncio.Future[Response] | None = None
        self._headers: dict[str, str] = {}
        self._parts: list[bytes] = []

    async def exchange(self, request: bytes) -> Response:
        """Send a request and return its answer."""
        assert self._transport is not None
        self._answer = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        return await self._answer

    def abort(self) -> None:
        """Close the connection at once."""
        self.reusable = False
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's are none by class

    def data_received(self, data: bytes) -> None:
        try:
            if self._answer is None:
                raise ConnectionError("the server has sent an unexpected response")
            self._parser.feed_data(data)
        except (httptools.HttpParserError, ConnectionError) as error:
            self._fail(error)
            self.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self.reusable = False
        self._fail(exc)

    def _fail(self, error: Exception | None) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(ConnectionError(str(error or "the server has closed the connection")))

    def on_message_begin(self) -> None:
        if self._answer is None:  # unsolicited: the next request must not get this as its response
            self.reusable = False
        self._headers, self._parts = {}, []

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers[name.decode("latin-1").lower()] = value.decode("latin-1")

    def on_body(self, body: bytes) -> None:
        self._parts.append(body)

    def on_message_complete(self) -> None:
        status = self._parser.get_status_code()
        if status < 200:  # the answer is still to come
            return
        self.reusable = self.reusable and self._parser.should_keep_alive()
        answer, self._answer = self._answer, None
        if answer is not None and not answer.done():
            answer.set_result(Response(status, b"".join(self._parts), self._headers))
