"""A transport over HTTP: TLS, credentials, kept connections."""

from __future__ import annotations

import asyncio
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
        self._server = config.server.rstrip("/")
        address = urlsplit(self._server)
        self._prefix = address.path
        host = address.netloc.rpartition("@")[2]
        self._common = [f"Host: {host}", f"User-Agent: {AGENT}", *(f"{k}: {v}" for k, v in config.headers)]
        self._connections = Connections(config, connections)

    async def request(self, request: Request) -> Response:
        """Send `request` and return the whole answer; with fresh credentials once more if they were rejected."""
        answer = await self._exchange(request)
        if answer.status == 401 and self._config.credentials.rejected():
            answer = await self._exchange(request)
        return answer

    async def _exchange(self, request: Request) -> Response:
        async with asyncio.timeout(request.timeout):
            head = await self._head(request)
            return await self._connections.exchange(head, request.body or b"", request.allowed)

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncIterator[Stream]:
        """Send `request`, which has no body, and hand out its answer line by line."""
        async with self._connections.stream(await self._head(request), request.timeout) as connection:
            status, pieces = connection.status, connection.pieces()
            if status == 401:
                self._config.credentials.rejected()
            body = b"" if status == 200 else b"".join([piece async for piece in pieces])
            yield Stream(status, _lines(pieces), body, connection.headers)

    async def close(self) -> None:
        """Close all connections."""
        self._connections.close()

    async def _head(self, request: Request) -> bytes:
        """Everything of a request before its body; raises `ValueError` for what is no part of one line."""
        query = f"?{urlencode(request.query)}" if request.query else ""
        lines = [f"{request.method} {self._prefix}{request.path}{query} HTTP/1.1", *self._common]
        lines += [f"{name}: {value}" for name, value in (await self._headers(request)).items()]
        if request.method != "GET":
            lines.append(f"Content-Length: {len(request.body or b'')}")
        head = "\r\n".join(lines)
        if " " in request.path or "\0" in head or not head.count("\r") == head.count("\n") == len(lines) - 1:
            raise ValueError(f"the address or a header of {request.method} {request.path!r} has more than one line")
        return f"{head}\r\n\r\n".encode()

    async def _headers(self, request: Request) -> dict[str, str]:
        headers = {"Accept": request.accept}
        if request.body is not None:
            headers["Content-Type"] = request.content_type
        if authorization := await self._config.credentials.authorization():
            headers["Authorization"] = authorization
        return headers


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
