"""Connections that ask for nothing are closed, and requests in work never."""

from __future__ import annotations

import asyncio
import resource
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing, suppress
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from structlog.testing import capture_logs
from unit_tests.operator.certificates import authority

from training_local.apiserver.connections import HttpConnections
from training_operator.connections import bound

LONG = 3600.0


@pytest.fixture
def context(tmp_path: Path) -> ssl.SSLContext:
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.load_cert_chain(*authority().issue("server").write(tmp_path, "server"))
    return made


@asynccontextmanager
async def served(tls: ssl.SSLContext | None = None, **options: Any) -> AsyncIterator[tuple[str, int]]:
    """A server that answers at once, but on /watch goes on for ever."""

    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        if request.path != "/watch":
            return web.Response(text="ok")
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(b"first\n")
        await asyncio.Event().wait()
        return response

    listeners = bound("127.0.0.1", 0)
    connections = HttpConnections(answer, handler_cancellation=True, **options)
    async with connections.listening(listeners, tls):
        try:
            yield listeners[0].getsockname()
        finally:
            await connections.close()


async def ask(connection: socket.socket, path: str) -> bytes:
    loop = asyncio.get_running_loop()
    await loop.sock_sendall(connection, f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    return await loop.sock_recv(connection, 4096)


async def connected(address: tuple[str, int]) -> socket.socket:
    connection = socket.socket()
    connection.setblocking(False)
    await asyncio.get_running_loop().sock_connect(connection, address)
    return connection


async def is_closed(connection: socket.socket) -> bool:
    """Whether the server closes a connection within seconds."""
    with suppress(ConnectionResetError):
        async with asyncio.timeout(10):
            return await asyncio.get_running_loop().sock_recv(connection, 1) == b""
    return True


async def test_who_asks_for_nothing_or_does_not_end_asking_is_closed_and_a_watch_is_not() -> None:
    async with served(idle_most=10, seconds_to_ask=0.05) as address:
        silent, slow, watching, kept = [await connected(address) for _ in range(4)]
        assert b"200 OK" in await ask(watching, "/watch")
        assert b"200 OK" in await ask(kept, "/")
        await asyncio.get_running_loop().sock_sendall(slow, b"GET / HTTP/1.1\r\nHost: x\r\n")
        assert await is_closed(silent)
        assert await is_closed(slow)
        assert b"200 OK" in await ask(kept, "/")
        with pytest.raises(BlockingIOError):
            watching.recv(1)
        for each in (silent, slow, watching, kept):
            each.close()


async def test_a_handshake_that_does_not_begin_is_closed(context: ssl.SSLContext) -> None:
    async with served(context, idle_most=10, seconds_to_ask=0.05) as address:
        with closing(await connected(address)) as silent:
            assert await is_closed(silent)


@pytest.mark.parametrize("secure", [False, True])
async def test_the_longest_idle_go_first(secure: bool, context: ssl.SSLContext) -> None:
    async with served(context if secure else None, idle_most=3, seconds_to_ask=LONG) as address:
        with capture_logs() as logs:
            idle = [await connected(address) for _ in range(6)]
            assert [await is_closed(each) for each in idle[:3]] == [True] * 3
        for each in idle[3:]:
            with pytest.raises(BlockingIOError):
                each.recv(1)
        assert [each["event"] for each in logs] == ["connections closed: too many are idle"]
        for each in idle:
            each.close()


async def test_watches_outlive_a_flood() -> None:
    async with served(idle_most=3, seconds_to_ask=LONG) as address:
        watches = []
        for _ in range(8):
            watches.append(await connected(address))
            assert b"200 OK" in await ask(watches[-1], "/watch")
        for _ in range(50):
            (await connected(address)).close()
        last = await connected(address)
        assert b"200 OK" in await ask(last, "/")
        for each in watches:
            with pytest.raises(BlockingIOError):
                each.recv(1)
        for each in (*watches, last):
            each.close()


async def test_without_descriptors_it_says_so_and_goes_on() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    async with served(idle_most=10, seconds_to_ask=LONG) as address:
        waiting = await connected(address)
        with capture_logs() as logs:
            mine = await connected(address)
            resource.setrlimit(resource.RLIMIT_NOFILE, (mine.fileno() + 1, hard))
            try:
                assert await is_closed(waiting)  # for the one that could not be accepted
            finally:
                resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        assert b"200 OK" in await ask(mine, "/")
        assert "a connection cannot be accepted" in {each["event"] for each in logs}
        waiting.close()
        mine.close()
