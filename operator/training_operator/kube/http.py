"""A transport over HTTP: TLS, credentials, kept connections."""

from __future__ import annotations

import socket
import struct
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final

import aiohttp
from aiohttp.abc import AbstractStreamWriter
from aiohttp.connector import AddrInfoType
from multidict import CIMultiDict
from yarl import URL

from training_operator.kube.config import ClusterConfig
from training_operator.kube.transport import AGENT, Request, Response, Stream

CONNECTIONS: Final = 96
"""64 for requests (`IN_FLIGHT` and `RESERVED` of `flow`), the rest for watches; a TLS connection takes 256 KiB."""
CONNECT_SECONDS: Final = 10.0
UNACKNOWLEDGED_SECONDS: Final = 5
"""Unacknowledged data is dropped after so long: a write of a leader must not arrive when another one leads."""
SOCKET_OPTIONS: Final = {
    "TCP_KEEPIDLE": 30,
    "TCP_KEEPINTVL": 10,
    "TCP_KEEPCNT": 3,
    "TCP_USER_TIMEOUT": 1000 * UNACKNOWLEDGED_SECONDS,
}
"""A peer that vanished without a word is noticed within a minute, not at the end of the watch."""


class HttpTransport:
    """Sends requests to the API server of a `ClusterConfig`. Make it inside the event loop that uses it."""

    def __init__(self, config: ClusterConfig, connections: int = CONNECTIONS) -> None:
        """Use at most so many `connections` at once; 0 for any number."""
        self._config = config
        self._server = config.server.rstrip("/")
        # Not trust_env: looking for proxies in the environment costs 90 us per request.
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(
                limit=connections, ssl=config.tls or False, keepalive_timeout=60, socket_factory=open_socket
            ),
            headers=CIMultiDict((("User-Agent", AGENT), *config.headers)),
            cookie_jar=aiohttp.DummyCookieJar(),
        )

    async def request(self, request: Request) -> Response:
        """Send `request` and return the whole answer; with fresh credentials once more if they were refused."""
        limits = aiohttp.ClientTimeout(total=request.timeout, sock_connect=CONNECT_SECONDS)
        answer = await self._exchange(request, limits)
        if answer.status == 401 and self._config.credentials.refused():
            answer = await self._exchange(request, limits)
        return answer

    async def _exchange(self, request: Request, limits: aiohttp.ClientTimeout) -> Response:
        async with self._open(request, limits) as answer:
            return Response(answer.status, await answer.read(), _lower(answer.headers))

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncIterator[Stream]:
        """Send `request` and hand out its answer line by line."""
        limits = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS, sock_read=request.timeout)
        async with self._open(request, limits) as answer:
            headers = _lower(answer.headers)
            if answer.status == 200:
                yield Stream(200, _lines(answer.content), headers=headers)
                return
            if answer.status == 401:
                self._config.credentials.refused()
            yield Stream(answer.status, _lines(answer.content), await answer.read(), headers)

    async def close(self) -> None:
        """Close all connections."""
        await self._session.close()

    @asynccontextmanager
    async def _open(self, request: Request, limits: aiohttp.ClientTimeout) -> AsyncIterator[aiohttp.ClientResponse]:
        """Begin an exchange; what aiohttp raises leaves as `OSError`, as `Transport` promises."""
        headers = {"Accept": request.accept}
        if request.body is not None:
            headers["Content-Type"] = request.content_type
        if authorization := await self._config.credentials.authorization():
            headers["Authorization"] = authorization
        options: dict[str, Any] = {}
        if self._config.server_name:
            options["server_hostname"] = self._config.server_name
        if self._config.proxy:
            options["proxy"] = self._config.proxy
        url = URL(self._server + request.path, encoded=True)
        if request.query:
            url = url.with_query(request.query)
        try:
            async with self._session.request(
                request.method,
                url,
                data=_body(request),
                headers=headers,
                timeout=limits,
                allow_redirects=False,
                **options,
            ) as answer:
                yield answer
        except aiohttp.ClientError as error:
            if isinstance(error, OSError):
                raise
            raise ConnectionError(f"{self._server}: {error or type(error).__name__}") from error


class _Guarded(aiohttp.BytesPayload):
    """A body that asks, as it is written, whether it still may be."""

    def __init__(self, body: bytes, allowed: Callable[[], bool]) -> None:
        super().__init__(body)
        self._allowed = allowed

    async def write_with_length(self, writer: AbstractStreamWriter, content_length: int | None) -> None:
        if not self._allowed():
            raise NotAllowed("the request may not be sent any more")
        await super().write_with_length(writer, content_length)


class NotAllowed(Exception):
    """The time in which a request was allowed is over; aiohttp makes a broken connection of it."""


def _body(request: Request) -> bytes | _Guarded | None:
    if request.body is None or request.allowed is None:
        return request.body
    return _Guarded(request.body, request.allowed)


def open_socket(address: AddrInfoType) -> socket.socket:
    """Return a socket that asks a silent peer whether it is still there."""
    family, kind, protocol, _, _ = address
    made = socket.socket(family, kind, protocol)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    # Closing drops what is not yet sent: of a process that has ended, nothing may arrive.
    made.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    for name, value in SOCKET_OPTIONS.items():
        if hasattr(socket, name):  # Linux has all of them
            made.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
    return made


def _lower(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}


async def _lines(content: aiohttp.StreamReader) -> AsyncIterator[bytes]:
    """Split what arrives into lines of any length (aiohttp's own reader refuses those above 128 KiB)."""
    parts: list[bytes] = []
    async for chunk in content.iter_any():
        *ended, rest = chunk.split(b"\n")
        for line in ended:
            parts.append(line)
            if whole := b"".join(parts):
                yield whole
            parts.clear()
        parts.append(rest)
    if whole := b"".join(parts):
        yield whole
