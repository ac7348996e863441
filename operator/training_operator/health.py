"""Serving probes and metrics over plain HTTP: /healthz, /readyz, /metrics.

aiohttp would do it, for 11 MB of memory that nothing else in the operator needs.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final, cast

import httptools
import structlog

from training_operator.connections import Connections, bound

IDLE_MOST: Final = 256
"""Connections without a request that are kept on a port: kubelets and Prometheus have a handful."""
KEEP_ALIVE_SECONDS: Final = 75.0
"""Longer than between two scrapes."""
REQUEST_MOST: Final = 64 * 1024
"""Bytes of a request."""
TEXT: Final = "text/plain; charset=utf-8"

Check = Callable[[], str]
"""Says what is wrong; empty if nothing is."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The response to a request."""

    status: int
    body: bytes
    content_type: str = TEXT


Routes = Mapping[str, Callable[[], Answer]]


class CannotListen(Exception):
    """An address cannot be served; the message is one sentence for the user."""


def probe_routes(healthy: Check, ready: Check) -> Routes:
    """Return the answers of the two probes."""
    return {"/healthz": lambda: _said(healthy()), "/readyz": lambda: _said(ready())}


def metric_routes(exposition: Callable[[], bytes]) -> Routes:
    """Return the answer of the metrics."""
    return {"/metrics": lambda: Answer(200, exposition(), "text/plain; version=0.0.4; charset=utf-8")}


def _said(wrong: str) -> Answer:
    return Answer(500 if wrong else 200, (wrong or "ok").encode())


@asynccontextmanager
async def serving(address: str, routes: Routes, flag: str) -> AsyncIterator[int]:
    """Serve `routes` on `address` (`HOST:PORT`, `:PORT`, or `0` for nowhere) inside the context; yields the port.

    Raises `CannotListen`, naming `flag`, if the address is taken or not ours.
    """
    if address == "0":
        yield 0
        return
    host, _, port = address.rpartition(":")
    try:
        listeners = bound(host.strip("[]") or None, int(port))
    except OSError as error:
        raise CannotListen(f"{flag}: cannot listen on {address}: {error.strerror or error}") from None
    connections = Connections(lambda: _Requests(routes, connections), idle_most=IDLE_MOST)
    async with connections.listening(listeners):
        try:
            yield listeners[0].getsockname()[1]
        finally:
            connections.close()


class _Requests(asyncio.Protocol):
    """One connection: answers its requests at once, one after the other; the parser calls its `on_` methods."""

    def __init__(self, routes: Routes, connections: Connections) -> None:
        self._routes, self._connections = routes, connections
        self._parser = httptools.HttpRequestParser(self)
        self._url = b""
        self._bytes = 0
        """Of the request that is not yet complete."""
        self._answered = False
        """Whether what came last had a whole request."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._connections.opened(self, self._transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self._connections.work(self)

    def data_received(self, data: bytes) -> None:
        self._bytes += len(data)
        self._answered = False
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError:
            self._send(Answer(400, b"400: Bad Request"), keep=False)
        if self._bytes > REQUEST_MOST:
            self._transport.abort()

    def on_message_begin(self) -> None:
        self._url = b""

    def on_url(self, url: bytes) -> None:
        self._url += url

    def on_message_complete(self) -> None:
        # A client that does not wait for its answers could exhaust memory with pages of metrics.
        if self._answered or self._transport.get_write_buffer_size():
            self._transport.abort()
        if self._transport.is_closing():
            return
        self._bytes, self._answered = 0, True
        self._connections.work(self)
        method = self._parser.get_method()
        self._send(self._answer(method), keep=self._parser.should_keep_alive(), head=method == b"HEAD")

    def _answer(self, method: bytes) -> Answer:
        if method not in (b"GET", b"HEAD"):
            return Answer(405, b"405: Method Not Allowed")
        found = self._routes.get(httptools.parse_url(self._url).path.decode())
        try:
            return found() if found else Answer(404, b"404: Not Found")
        except Exception:
            structlog.get_logger().exception("internal error while answering a request")
            return Answer(500, b"500: Internal Server Error")

    def _send(self, answer: Answer, *, keep: bool, head: bool = False) -> None:
        lines = (
            f"HTTP/1.1 {answer.status} {HTTPStatus(answer.status).phrase}",
            f"Content-Type: {answer.content_type}",
            f"Content-Length: {len(answer.body)}",
            f"Connection: {'keep-alive' if keep else 'close'}",
        )
        self._transport.write("\r\n".join((*lines, "\r\n")).encode() + (b"" if head else answer.body))
        self._connections.rest(self, self._transport, KEEP_ALIVE_SECONDS)
        if not keep:
            self._transport.close()
