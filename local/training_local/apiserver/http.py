"""The API server over HTTPS, for `kubectl` and every other client: loopback and bearer token only."""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import ssl
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import structlog
from aiohttp import web

from training_local.apiserver.answers import failure
from training_local.apiserver.certificates import ServerIdentity
from training_local.apiserver.connections import HttpConnections
from training_local.apiserver.errors import ApiError, internal, too_large
from training_local.apiserver.exec import ExecRequest, execute
from training_local.apiserver.portforward import Dial, forward
from training_local.apiserver.server import BODY_LIMIT, ApiServer
from training_local.apiserver.users import Tokens, User
from training_local.apiserver.watch import Live
from training_operator.connections import bound
from training_operator.kube.transport import JSON, Request, Response

KEEP_ALIVE_SECONDS = 600.0
IDLE_MOST = 4096
"""Connections without a request that are kept, where so many files may be open: all ranks of a large job have one."""
BODY_SECONDS = 60.0
"""How long the body of a request may take to arrive, as the real server has it for whole requests."""
HEADER_LIMIT = 256 * 1024
"""Bytes of a request line or a header; a label selector with many names is long."""
_log = structlog.get_logger(__name__)
# What is no HTTP would be logged as it came, credentials included; the client gets a 400.
_SILENT = logging.Logger("nothing", logging.CRITICAL + 1)


class HttpsFront:
    """Turns HTTP requests into the server's own, and its answers into HTTP."""

    def __init__(self, server: ApiServer, authenticate: Callable[[str], User]) -> None:
        self._server = server
        self._authenticate = authenticate
        self._open: set[Live] = set()
        self._upgraded: set[asyncio.Task[object]] = set()

    async def handle(self, http: web.BaseRequest) -> web.StreamResponse:
        """Answer one request; a watch or log lasts until one side ends it."""
        try:
            user = self._authenticate(http.headers.get("Authorization", ""))
            if "Upgrade" in http.headers:
                command = http.query.getall("command", [])
                if request := self._server.upgrade(http.path, dict(http.query), command, user):
                    return await self._leave_http(http, request)
            answer = self._server.handle(await _read(http), user)
        except ApiError as error:
            answer = failure(error)
        except Exception:
            _log.exception("internal error while handling a request", method=http.method, path=http.path)
            answer = failure(internal("internal error; see the server's log"))
        if isinstance(answer, Response):
            return web.Response(status=answer.status, body=answer.body, headers=answer.headers)
        return await self._stream(http, answer)

    async def _leave_http(self, http: web.BaseRequest, request: ExecRequest | Dial) -> web.StreamResponse:
        task = asyncio.current_task()
        assert task is not None
        self._upgraded.add(task)
        try:
            return await (execute(http, request) if isinstance(request, ExecRequest) else forward(http, request))
        finally:
            self._upgraded.discard(task)

    def close(self) -> None:
        """End all streams, executions and forwarded ports, so that connections can be closed."""
        for task in self._upgraded:
            task.cancel()
        for answer in tuple(self._open):
            answer.close()

    async def _stream(self, http: web.BaseRequest, answer: Live) -> web.StreamResponse:
        response = web.StreamResponse(headers={"content-type": answer.content_type})
        self._open.add(answer)
        try:
            await response.prepare(http)
            async for batch in answer.batches():
                await response.write(b"".join(batch))
            await response.write_eof()
        except ConnectionError:
            pass  # The client has left.
        finally:
            self._open.discard(answer)
            answer.close()
        return response


async def _read(http: web.BaseRequest) -> Request:
    """Return an HTTP request as the server takes it; raises a 413 before a body that is too large is read."""
    body = bytearray()
    try:
        async with asyncio.timeout(BODY_SECONDS):
            async for chunk in http.content.iter_any():
                body += chunk
                if len(body) > BODY_LIMIT:
                    raise too_large(BODY_LIMIT)
    except TimeoutError:
        raise ApiError(408, "Timeout", f"the body did not arrive within {BODY_SECONDS:.0f} s") from None
    return Request(
        method=http.method,
        path=http.path,
        query=dict(http.query),
        body=bytes(body) or None,
        content_type=http.headers.get("Content-Type", JSON),
        accept=http.headers.get("Accept", JSON),
        user_agent=http.headers.get("User-Agent", ""),
    )


@asynccontextmanager
async def serving(
    server: ApiServer, identity: ServerIdentity, tokens: Tokens | str, *, host: str = "127.0.0.1", port: int = 0
) -> AsyncIterator[str]:
    """Serve over HTTPS inside the context, which gets the URL; port 0 means any free one.

    `tokens` may be the owner's token, where there are no others. Raises OSError if the port is taken, ValueError if
    `host` is not a loopback address.
    """
    if not ipaddress.ip_address(host).is_loopback:
        raise ValueError(f"the API server listens only on loopback addresses, not on {host}")
    known = Tokens(tokens, server.has) if isinstance(tokens, str) else tokens
    listeners = bound(host, port)
    async with answering(server, known.user) as connections, connections.listening(listeners, tls(identity)):
        taken = listeners[0].getsockname()[1]
        yield f"https://[{host}]:{taken}" if ":" in host else f"https://{host}:{taken}"


@asynccontextmanager
async def answering(server: ApiServer, authenticate: Callable[[str], User]) -> AsyncIterator[HttpConnections]:
    """Yield what answers whoever connects to a socket that it listens on; the end of the context ends connections.

    `authenticate` returns the user of a header `Authorization`, or raises a 401.
    """
    front = HttpsFront(server, authenticate)
    # Cancelled handlers: a watch ends as soon as its client has gone, not with the next event.
    connections = HttpConnections(
        front.handle,
        idle_most=IDLE_MOST,
        handler_cancellation=True,
        logger=_SILENT,
        keepalive_timeout=KEEP_ALIVE_SECONDS,
        max_line_size=HEADER_LIMIT,
        max_field_size=HEADER_LIMIT,
        auto_decompress=False,  # a small body could become a large one
    )
    try:
        yield connections
    finally:
        front.close()
        await connections.close()


def tls(identity: ServerIdentity) -> ssl.SSLContext:
    """Return what a server needs to show `identity`."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    # The standard library reads keys from files only; these have no name that a killed process could leave behind.
    with tempfile.TemporaryFile() as certificate, tempfile.TemporaryFile() as key:
        for file, content in ((certificate, identity.certificate), (key, identity.key)):
            file.write(content)
            file.seek(0)
        context.load_cert_chain(*(f"/dev/fd/{file.fileno()}" for file in (certificate, key)))
    return context
