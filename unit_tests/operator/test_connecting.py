"""Connections to an API server: socket options, proxies."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from unit_tests.operator.certificates import authority
from unit_tests.operator.peer import Peer, hello, listening, opened, replying, serving

from training_operator.kube.config import ClusterConfig, trusting
from training_operator.kube.connecting import open_socket
from training_operator.kube.credentials import Fixed
from training_operator.kube.transport import Request


def test_connections_use_tcp_keep_alive() -> None:
    with open_socket((socket.AF_INET, socket.SOCK_STREAM, 0, "", ("127.0.0.1", 1))) as made:
        assert made.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
        assert made.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE) == 30
        assert made.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == 5000


async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65536):
        writer.write(data)
    writer.close()


@asynccontextmanager
async def proxied(folder: Path, *, tls: ssl.SSLContext | None = None) -> AsyncIterator[tuple[Peer, str, list[bytes]]]:
    """A server behind a proxy: the server, the proxy's address, and the heads that the proxy has read."""
    heads = list[bytes]()
    async with serving(hello, folder) as peer:

        async def tunnel(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            heads.append(await reader.readuntil(b"\r\n\r\n"))
            there = await asyncio.open_connection("127.0.0.1", peer.port)
            writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            await asyncio.gather(pump(reader, there[1]), pump(there[0], writer))

        async with listening(tunnel, tls) as proxy:
            yield peer, proxy, heads


async def test_a_proxy_passes_requests_and_streams(tmp_path: Path) -> None:
    async with proxied(tmp_path) as (peer, proxy, heads):
        config = ClusterConfig(peer.url, Fixed(), trusting(cadata=authority().pem), proxy=f"http://me:a%40b@{proxy}")
        async with opened(config) as transport:
            for _ in range(2):
                assert (await transport.request(Request("POST", "/", body=b"{}", allowed=lambda: True))).status == 200
            with pytest.raises(OSError):
                await transport.request(Request("POST", "/", body=b"{}", allowed=lambda: False))
            async with transport.stream(Request("GET", "/")) as stream:
                assert [line async for line in stream.lines] == [b"hello"]
    assert peer.bodies == [b"{}", b"{}", b""]
    assert len(heads) == 2  # the connection of the requests is kept
    assert heads[0].startswith(f"CONNECT 127.0.0.1:{peer.port} HTTP/1.1\r\nHost: 127.0.0.1:{peer.port}\r\n".encode())
    assert b"\r\nProxy-Authorization: Basic bWU6YUBi\r\n" in heads[0]


async def test_a_proxy_over_tls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "ca").write_text(authority().pem)
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca"))
    own = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    own.load_cert_chain(*authority().issue("127.0.0.1").write(tmp_path, "proxy"))
    async with proxied(tmp_path, tls=own) as (peer, proxy, heads):
        config = ClusterConfig(peer.url, Fixed(), trusting(cadata=authority().pem), proxy=f"https://{proxy}")
        async with opened(config) as transport:
            assert (await transport.request(Request("GET", "/"))).body == b"hello"
    assert len(heads) == 1


@pytest.mark.parametrize(
    "answer", [b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n", b"SSH-2.0-x\r\n", b"x" * 100_000]
)
async def test_a_proxy_that_does_not_connect_is_an_os_error(answer: bytes) -> None:
    heads = list[bytes]()
    async with listening(replying(answer, heads)) as proxy:
        tls = ssl.create_default_context()
        config = ClusterConfig("https://kube.example:6443", Fixed(), tls, proxy=f"http://{proxy}")
        async with opened(config) as transport:
            with pytest.raises(OSError, match=r"https://kube\.example:6443: the proxy"):
                await transport.request(Request("GET", "/"))
    assert heads[0].startswith(b"CONNECT kube.example:6443 HTTP/1.1\r\n")
