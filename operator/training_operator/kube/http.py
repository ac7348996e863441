"""A transport over HTTP: TLS, credentials, kept connections."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final
from urllib.parse import urlencode, urlsplit

import aiohttp
from aiohttp.abc import AbstractStreamWriter
from multidict import CIMultiDict
from yarl import URL

from training_operator.kube.config import ClusterConfig
from training_operator.kube.exchange import CONNECT_SECONDS, Connections, NotAllowed, open_socket
from training_operator.kube.transport import AGENT, Request, Response, Stream

CONNECTIONS: Final = 96
"""64 for requests (`IN_FLIGHT` and `RESERVED` of `flow`), the rest for watches; a TLS connection takes 256 KiB."""


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
        # Not trust_env: looking for proxies in the environment costs 90 us per request.
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(
                limit=connections, ssl=config.tls or False, keepalive_timeout=60, socket_factory=open_socket
            ),
            headers=CIMultiDict((("User-Agent", AGENT), *config.headers)),
            cookie_jar=aiohttp.DummyCookieJar(),
        )

    async def request(self, request: Request) -> Response:
        """Send `request` and return the whole answer; with fresh credentials once more if they were rejected."""
        exchange = self._through_proxy if self._config.proxy else self._exchange
        answer = await exchange(request)
        if answer.status == 401 and self._config.credentials.rejected():
            answer = await exchange(request)
        return answer

    async def _exchange(self, request: Request) -> Response:
        try:
            async with asyncio.timeout(request.timeout):
                head = await self._head(request)
                return await self._connections.exchange(head, request.body or b"", request.allowed)
        except TimeoutError:
            raise
        except OSError as error:
            raise ConnectionError(f"{self._server}: {error or type(error).__name__}") from error

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

    async def _through_proxy(self, request: Request) -> Response:
        limits = aiohttp.ClientTimeout(total=request.timeout, sock_connect=CONNECT_SECONDS)
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
                self._config.credentials.rejected()
            yield Stream(answer.status, _lines(answer.content), await answer.read(), headers)

    async def close(self) -> None:
        """Close all connections."""
        self._connections.close()
        await self._session.close()

    @asynccontextmanager
    async def _open(self, request: Request, limits: aiohttp.ClientTimeout) -> AsyncIterator[aiohttp.ClientResponse]:
        """Begin an exchange; what aiohttp raises leaves as `OSError`, as `Transport` promises."""
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
                headers=await self._headers(request),
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
            raise NotAllowed
        await super().write_with_length(writer, content_length)


def _body(request: Request) -> bytes | _Guarded | None:
    if request.body is None or request.allowed is None:
        return request.body
    return _Guarded(request.body, request.allowed)


def _lower(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}


async def _lines(content: aiohttp.StreamReader) -> AsyncIterator[bytes]:
    """Split what arrives into lines of any length (aiohttp's own reader rejects those above 128 KiB)."""
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
