"""Real servers on loopback, over HTTPS and below HTTP, with the responses of a test."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from aiohttp import web
from unit_tests.operator.certificates import authority

from training_operator.kube.config import ClusterConfig
from training_operator.kube.http import HttpTransport

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Peer:
    """The server's address and its requests."""

    def __init__(self) -> None:
        self.url = ""
        self.requests: list[web.Request] = []
        self.connections = set[object]()
        self.bodies: list[bytes] = []

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])


@asynccontextmanager
async def serving(
    handler: Handler, folder: Path, *, name: str = "127.0.0.1", clients: bool = False
) -> AsyncIterator[Peer]:
    """Serve with a certificate for `name`; with `clients`, only those with a certificate of the same authority."""
    pair = authority().issue(name).write(folder, "server")
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.verify_flags &= ~ssl.VERIFY_X509_STRICT  # as an API server, see `certificates.Authority`
    tls.load_cert_chain(*pair)
    if clients:
        tls.load_verify_locations(cadata=authority().pem)
        tls.verify_mode = ssl.CERT_REQUIRED
    peer = Peer()

    async def answer(request: web.Request) -> web.StreamResponse:
        peer.requests.append(request)
        peer.connections.add(request.transport)
        peer.bodies.append(await request.read())
        return await handler(request)

    application = web.Application(client_max_size=2**26)
    application.router.add_route("*", "/{path:.*}", answer)
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls)
        await site.start()
        peer.url = f"https://127.0.0.1:{runner.addresses[0][1]}"
        yield peer
    finally:
        await runner.cleanup()


Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def replying(answer: bytes, heads: list[bytes]) -> Serve:
    """Reads one request, notes its head, sends these bytes and closes the connection."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(answer)
        await writer.drain()
        writer.close()

    return serve


@asynccontextmanager
async def listening(serve: Serve, tls: ssl.SSLContext | None = None) -> AsyncIterator[str]:
    """The address of a server that is less than HTTP: `serve` handles each connection."""
    async with await asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls) as server:
        yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}"


async def hello(_: web.Request) -> web.StreamResponse:
    return web.Response(body=b"hello")


@asynccontextmanager
async def opened(config: ClusterConfig, connections: int = 0) -> AsyncIterator[HttpTransport]:
    transport = HttpTransport(config, connections)
    try:
        yield transport
    finally:
        await transport.close()
