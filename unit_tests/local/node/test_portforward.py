"""Connections to ports of pods, over both protocols of `kubectl port-forward`."""

from __future__ import annotations

import asyncio
import json
import os
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from e2e.support.embedded import TOKEN
from e2e.support.local_node import Cluster, over_https

from training_local.apiserver.certificates import ServerIdentity
from training_local.apiserver.errors import ApiError
from training_local.apiserver.portforward import MOST_CONNECTIONS, PROTOCOL, SPDY
from training_local.apiserver.spdy import SpdyConnection, SpdyStream, Wire
from training_local.apiserver.users import ServiceAccount
from training_local.errors import BadInput
from training_local.execution.forward import PodGone, PodPort
from training_local.run.forward import Forwarder

ECHO = """
import socket, sys, threading
def answer(connection):
    data = b"".join(iter(lambda: connection.recv(65536), b""))
    connection.sendall(data[::-1])
    connection.close()
family = socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET
with socket.create_server((sys.argv[1], int(sys.argv[2])), family=family) as server:
    print("listening", flush=True)
    while True:
        threading.Thread(target=answer, args=[server.accept()[0]]).start()
"""
PATH = "/api/v1/namespaces/default/pods/{}/portforward"


async def free_port() -> int:
    async with await asyncio.start_server(lambda *_: None, "127.0.0.1", 0) as server:
        return int(server.sockets[0].getsockname()[1])


async def echo(cluster: Cluster, host: str = "127.0.0.1") -> int:
    """Run a pod that answers at the end of its input; return its port."""
    port = await free_port()  # in host mode it is the machine's
    await cluster.start("echo", "python", "-c", ECHO, host, str(port), says="listening")
    return port


async def said(host: str, port: int, data: bytes) -> bytes:
    """Send, say that this is all, and return the answer."""
    reader, writer = await asyncio.open_connection(host, port)
    writer.write(data)
    writer.write_eof()
    try:
        async with asyncio.timeout(20):
            return await reader.read()
    finally:
        writer.close()


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
async def test_bytes_go_both_ways_and_each_side_can_end(cluster: Cluster, host: str) -> None:
    port, data, sentences = await echo(cluster, host), os.urandom(1 << 20), list[str]()
    async with over_https(cluster) as (session, url, _):
        forwarder = Forwarder(PodPort(session, url, "default", "echo", port), sentences.append)
        async with await forwarder.listen(0) as server:
            here = server.sockets[0].getsockname()
            answers = await asyncio.gather(*(said(here[0], here[1], data[n:]) for n in range(4)))
            assert answers == [data[n:][::-1] for n in range(4)]
            await forwarder.close()
    assert sentences == []


async def test_what_goes_wrong_is_one_sentence(cluster: Cluster) -> None:
    await echo(cluster)
    silent, sentences = await free_port(), list[str]()
    async with over_https(cluster) as (session, url, _):
        target = PodPort(session, url, "default", "echo", silent)
        assert not await target.listens()
        forwarder = Forwarder(target, sentences.append)
        async with await forwarder.listen(0) as server:
            host, here = server.sockets[0].getsockname()
            with pytest.raises(ConnectionResetError):
                await said(host, here, b"hello?")
            assert sentences == [f"nothing listens on port {silent} of localhost in pod echo"]
            with pytest.raises(BadInput, match=f"port {here} of this machine cannot be used"):
                await forwarder.listen(here)
        with pytest.raises(PodGone, match='pods "nosuch" not found'):
            await PodPort(session, url, "default", "nosuch", 80).listens()
        async with session.get(PATH.format("echo")) as answer:
            assert (answer.status, (await answer.json())["message"]) == (400, "Upgrade request required")
        with pytest.raises(PodGone, match="the cluster cannot be reached"):
            await PodPort(session, f"https://127.0.0.1:{silent}", "default", "echo", 80).listens()


class Bare(Wire):
    """A connection as kubectl up to 1.30 makes it."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    async def read(self) -> bytes:
        return await self.reader.read(1 << 16)

    async def write(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()


@asynccontextmanager
async def upgraded(url: str, identity: ServerIdentity, protocol: str = PROTOCOL) -> AsyncIterator[tuple[str, Bare]]:
    """Send the request of an old kubectl; the head of the answer, and the connection."""
    port, trusted = int(url.rpartition(":")[2]), ssl.create_default_context(cadata=identity.authority.decode())
    reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=trusted)
    head = f"POST {PATH.format('echo')} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {TOKEN}\r\nContent-Length: 0\r\n"
    writer.write(
        f"{head}Connection: Upgrade\r\nUpgrade: {SPDY}\r\nX-Stream-Protocol-Version: {protocol}\r\n\r\n".encode()
    )
    try:
        yield (await reader.readuntil(b"\r\n\r\n")).decode(), Bare(reader, writer)
    finally:
        writer.close()


async def read_all(stream: SpdyStream) -> bytes:
    return b"".join([data async for data in _blocks(stream)])


async def _blocks(stream: SpdyStream) -> AsyncIterator[bytes]:
    while data := await stream.read():
        yield data


async def test_spdy_without_a_websocket(cluster: Cluster) -> None:
    port = await echo(cluster)
    async with over_https(cluster) as (_, url, identity):
        async with upgraded(url, identity) as (head, wire):
            assert head.startswith("HTTP/1.1 101 ")
            assert f"Upgrade: {SPDY}" in head
            assert f"X-Stream-Protocol-Version: {PROTOCOL}" in head
            connection = SpdyConnection(wire, client=True)
            running = asyncio.create_task(connection.run())
            headers = {"port": str(port), "requestid": "7"}
            error = await connection.open({**headers, "streamtype": "error"}, fin=True)
            data = await connection.open({**headers, "streamtype": "data"})
            await data.write(b"hello")
            await data.finish()
            assert (await read_all(data), await read_all(error)) == (b"olleh", b"")
            for wrong in ({"streamtype": "data", "port": "0"}, {"streamtype": "other", "port": "1"}, {}):
                rejected = await connection.open(wrong)
                with pytest.raises(ConnectionResetError):
                    await rejected.read()
            first = [await connection.open({**headers, "requestid": str(n), "streamtype": "error"}) for n in range(256)]
            with pytest.raises(ConnectionResetError):
                await (await connection.open({**headers, "requestid": "more", "streamtype": "error"})).read()
            assert len(first) == MOST_CONNECTIONS
            running.cancel()
        async with upgraded(url, identity, "other.k8s.io") as (head, wire):
            assert head.startswith("HTTP/1.1 400 ")
            length = int(head.lower().partition("content-length: ")[2].partition("\r")[0])
            assert PROTOCOL in json.loads(await wire.reader.readexactly(length))["message"]
        # A client that breaks the protocol loses its connection, and no other does.
        async with upgraded(url, identity) as (_, wire):
            await wire.write(b"\x80\x03\x00\x01\x00\x00\x00\x20" + b"\xff" * 32)
            assert await wire.read() == b""
        async with upgraded(url, identity) as (head, wire):
            assert head.startswith("HTTP/1.1 101 ")


async def test_only_who_may_reach_ports_does(cluster: Cluster) -> None:
    await echo(cluster)
    cluster.api.server.attach_node(cluster.node)
    account = ServiceAccount("default", "default", "")
    with pytest.raises(ApiError, match='cannot create resource "pods/portforward" in API group "" in the namespace'):
        cluster.api.server.upgrade(PATH.format("echo"), {}, (), account.user)
    assert cluster.api.server.upgrade(PATH.format("echo"), {}, ()) is not None
