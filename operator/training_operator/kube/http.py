"""A transport over HTTP: TLS, credentials, kept connections."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final
from urllib.parse import urlencode, urlsplit

from training_operator.kube.config import ClusterConfig
from training_operator.kube.exchange import Connections
from training_operator.kube.transport import AGENT, Request, Response, Stream

CONNECTIONS: Final = 96
"""64 for requests (`IN_FLIGHT` and `RESERVED` of `flow`), the rest for watches; a TLS connection takes some 50 KiB."""


class HttpTransport:
    """Sends requests to the API server of a `ClusterConfig`. Make it inside the event loop that uses it."""

    def __init__(self, config: ClusterConfig, connections: int = CONNECTIONS) -> None:
        """Use at most so many `connections` at once for requests, and as many for streams; 0 for any number."""
        self._config = config
        address = urlsplit(config.server.rstrip("/"))
        self._prefix = address.path
        host = address.netloc.rpartition("@")[2]
        self._common = [f"Host: {host}", f"User-Agent: {AGENT}", *(f"{k}: {v}" for k, v in config.headers)]
        self._connections = Connections(config, connections)

    async def request(self, request: Request) -> Response:
        """Send `request` and return the whole answer; with fresh credentials once more if they were rejected."""
        for again in (True, False):
            message = self._head(request, await self._config.credentials.authorization()) + (request.body or b"")
            answer = await self._connections.exchange(message, request.timeout, request.allowed)
            if answer.status != 401 or not (self._config.credentials.rejected() and again):
                break
        return answer

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncIterator[Stream]:
        """Send `request`, which has no body, and hand out its answer line by line."""
        head = self._head(request, await self._config.credentials.authorization())
        async with self._connections.stream(head, request.timeout) as connection:
            status, pieces = connection.status, connection.pieces()
            if status == 401:
                self._config.credentials.rejected()
            body = b"" if status == 200 else b"".join([piece async for piece in pieces])
            yield Stream(status, _lines(pieces), body, connection.headers)

    async def close(self) -> None:
        """Close all connections."""
        self._connections.close()

    def _head(self, request: Request, authorization: str) -> bytes:
        """Everything of a request before its body; raises `ValueError` for what would not stay in its line."""
        query = f"?{urlencode(request.query)}" if request.query else ""
        lines = [f"{request.method} {self._prefix}{request.path}{query} HTTP/1.1", *self._common]
        lines.append(f"Accept: {request.accept}")
        if authorization:
            lines.append(f"Authorization: {authorization}")
        if request.body is not None:
            lines.append(f"Content-Type: {request.content_type}")
        if request.method != "GET":
            lines.append(f"Content-Length: {len(request.body or b'')}")
        if " " in request.path or not "".join(lines).isprintable():
            what = f"the address or a header of {request.method} {request.path!r}"
            raise ValueError(f"{what} has a character that cannot be printed, or the address a blank")
        return ("\r\n".join(lines) + "\r\n\r\n").encode()


async def _lines(pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Split what arrives into lines of any length."""
    parts: list[bytes] = []
    async for chunk in pieces:
        *ended, rest = chunk.split(b"\n")
        for line in ended:
            parts.append(line)
            if whole := b"".join(parts):
                yield whole
            parts.clear()
        parts.append(rest)
    if whole := b"".join(parts):
        yield whole
