"""What pods reach outside of the cluster, and what they do not."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from e2e.support.local_node import Cluster, cluster_in, needs_namespaces, service

from training_local.node.egress import dns
from training_local.node.egress.mode import NetworkMode
from training_local.node.egress.policy import MACHINE_NAME, NotAllowedError, destination

CLUSTER, PROXY, HOST, NONE = NetworkMode.CLUSTER, NetworkMode.PROXY, NetworkMode.HOST, NetworkMode.NONE


def own_address() -> str:
    """An address of this machine beside its loopback; empty if it has none."""
    with socket.socket(type=socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.99", 9))  # which sends nothing
        except OSError:
            return ""
        return str(probe.getsockname()[0])


OUTSIDE = own_address()
needs_address = pytest.mark.skipif(not OUTSIDE, reason="this machine has no address beside its loopback")

CALL = """
import socket, sys
for port in sys.argv[2:]:
    try:
        with socket.create_connection((sys.argv[1], int(port)), timeout=20) as connection:
            connection.sendall(b"ping")
            connection.shutdown(socket.SHUT_WR)
            got = b"".join(iter(lambda: connection.recv(65536), b""))
            print(got.decode() if len(got) < 99 else len(got))
    except OSError as error:
        print(type(error).__name__)
"""
FETCH = """
import sys, urllib.request, urllib.error
for url in sys.argv[1:]:
    try:
        print(urllib.request.urlopen(url, timeout=20).read().decode())
    except OSError as error:
        print(str(error).split(":")[0])
"""


@asynccontextmanager
async def listening(address: str, answer: bytes = b"pong") -> AsyncIterator[str]:
    """Answer `ping`, and a request of HTTP with its first line; yields the port."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked = await reader.readexactly(4)
        if asked == b"ping":
            await reader.read()  # the end of the question arrives, too
            writer.write(answer)
            await writer.drain()
        elif asked == b"GET ":
            said = asked + (await reader.readuntil(b"\r\n\r\n")).split(b"\r\n")[0]
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(said), said))
        writer.close()

    async with await asyncio.start_server(serve, address, 0) as server:
        yield str(server.sockets[0].getsockname()[1])


@asynccontextmanager
async def networked(tmp_path: Path, mode: NetworkMode) -> AsyncIterator[Cluster]:
    async with cluster_in(tmp_path / "state", "netns", network=mode) as cluster:
        yield cluster


async def said(cluster: Cluster, name: str, script: str, *arguments: str) -> list[str]:
    await cluster.run(name, "python", "-c", script, *arguments)
    return (await cluster.log(name)).splitlines()


@needs_namespaces
@needs_address
async def test_connections_lead_outside_and_not_to_the_loopback_of_the_machine(tmp_path: Path) -> None:
    data = os.urandom(3 << 20)
    async with (
        listening(OUTSIDE) as outside,
        listening(OUTSIDE, data) as much,
        listening("127.0.0.1") as private,
        networked(tmp_path, CLUSTER) as cluster,
    ):
        assert await said(cluster, "out", CALL, OUTSIDE, outside, much) == ["pong", str(len(data))]
        resets = (["ConnectionResetError"], ["OSError"])  # not connected, where the reset comes before the shutdown
        assert await said(cluster, "closed", CALL, OUTSIDE, "9") in resets
        for number, address in enumerate(("127.0.0.1", "10.244.255.254", "10.244.200.1")):
            said_there = await said(cluster, f"in-{number}", CALL, address, private)
            assert said_there[0] in ("ConnectionRefusedError", "OSError"), address
        for number, address in enumerate(("10.245.0.1", "169.254.169.254")):
            assert await said(cluster, f"hidden-{number}", CALL, address, private) in resets, address
        assert await said(cluster, "named", CALL, MACHINE_NAME, private) == ["gaierror"]


@needs_namespaces
async def test_the_loopback_of_the_machine_where_it_is_asked_for(tmp_path: Path) -> None:
    async with listening("127.0.0.1") as private, networked(tmp_path, HOST) as cluster:
        assert await said(cluster, "caller", CALL, MACHINE_NAME, private) == ["pong"]
        assert await said(cluster, "self", CALL, "127.0.0.1", private) == ["ConnectionRefusedError"]


@needs_namespaces
@needs_address
async def test_without_a_network_nothing_is_reached(tmp_path: Path) -> None:
    async with listening(OUTSIDE) as outside, networked(tmp_path, NONE) as cluster:
        assert await said(cluster, "caller", CALL, OUTSIDE, outside) == ["OSError"]  # no route
        assert await said(cluster, "asker", CALL, "example.com", outside) == ["gaierror"]


@needs_namespaces
@needs_address
async def test_a_proxy_for_programs_that_heed_it(tmp_path: Path) -> None:
    async with listening(OUTSIDE) as outside, listening("127.0.0.1") as private, networked(tmp_path, PROXY) as cluster:
        urls = [f"http://{OUTSIDE}:{outside}/a?b=c", *(f"http://{host}:{private}/" for host in ("0.0.0.0", "[::]"))]
        urls += [f"http://{OUTSIDE}:9/", f"https://{OUTSIDE}:{outside}/", f"https://169.254.169.254:{private}/"]
        assert await said(cluster, "fetcher", FETCH, *urls) == [
            "GET /a?b=c HTTP/1.1",
            "HTTP Error 403",
            "HTTP Error 403",
            "HTTP Error 502",
            "<urlopen error [SSL",  # the proxy let it through, to a server that knows no TLS
            "<urlopen error Tunnel connection failed",
        ]
        assert await said(cluster, "caller", CALL, OUTSIDE, outside) == ["OSError"]  # no route
        await cluster.api.create("services", service("peer"))
        server = "import http.server as h; h.test(h.SimpleHTTPRequestHandler, port=23456)"
        inside = {"job": "red", "container": {"workingDir": "/etc"}}
        await cluster.start("peer", "python", "-uc", server, **inside, says="Serving HTTP")
        await cluster.run("mate", "python", "-c", FETCH, "http://peer:23456/hosts", job="red")
        assert "\tpeer.default.svc" in await cluster.log("mate"), "the pods of a job are reached without the proxy"


@pytest.mark.parametrize("mode", [CLUSTER, PROXY])
@pytest.mark.parametrize(
    "address",
    [
        *("127.0.0.1", "127.8.9.1", "0.0.0.0", "169.254.169.254", "100.100.100.200", "168.63.129.16"),
        *("224.0.0.1", "255.255.255.255", "10.244.0.9", "10.244.255.254"),
        *("::1", "::", "::ffff:127.0.0.1", "::ffff:169.254.169.254", "fe80::1", "fd00:ec2::254", "ff02::1"),
    ],
)
def test_where_pods_may_not_connect_to(mode: NetworkMode, address: str) -> None:
    with pytest.raises(NotAllowedError):
        destination(address, mode)


def test_where_pods_may_connect_to() -> None:
    for address in ("192.0.2.1", "10.0.0.7", "172.17.0.1", "8.8.8.8", "2001:db8::1"):
        assert destination(address, CLUSTER) == address
    assert destination("::ffff:192.0.2.1", PROXY) == "192.0.2.1"
    assert destination("10.245.0.1", CLUSTER) == "10.245.0.1"
    assert destination("10.245.0.1", HOST) == "127.0.0.1"


class _Upstream(asyncio.DatagramProtocol):
    """A DNS server that knows one name."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def connection_made(self, transport: asyncio.DatagramTransport) -> None:  # type: ignore[override] # it is one
        self.transport = transport

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        name, kind = dns.name_of(data), data[data.index(b"\0", 12) + 2]
        self.asked.append(name)
        answer = dns.empty_answer(data, 0 if name == "example.com" else 3)
        if name == "example.com" and kind == 1:
            record = b"\xc0\x0c\0\x01\0\x01\0\0\0\x3c\0\x04" + socket.inet_aton("203.0.113.7")
            answer = answer[:6] + b"\0\x01" + answer[8:] + record
        self.transport.sendto(answer, addr)


@needs_namespaces
async def test_names_resolve_and_misspelt_ones_of_the_cluster_ask_no_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = """
import socket, sys
for name in sys.argv[1:]:
    try:
        print(socket.gethostbyname(name))
    except OSError as error:
        print(error)
"""
    loop = asyncio.get_running_loop()
    transport, upstream = await loop.create_datagram_endpoint(_Upstream, local_addr=("127.0.0.1", 0))
    monkeypatch.setattr(dns, "servers", lambda: [transport.get_extra_info("sockname")])
    perr = ["perr", "perr.default", "perr.default.svc", "perr.default.svc.cluster.local"]
    async with networked(tmp_path, CLUSTER) as cluster:
        found = await said(cluster, "asker", script, "example.com", "nosuch.example.com", *perr)
        transport.close()
        lost = await said(cluster, "late", script, "example.com")
    assert found == ["203.0.113.7", *["[Errno -2] Name or service not known"] * 5]
    assert set(upstream.asked) == {"example.com", "nosuch.example.com"}
    assert lost == ["[Errno -3] Temporary failure in name resolution"]


def test_the_servers_of_the_machine(tmp_path: Path) -> None:
    settings = tmp_path / "resolv.conf"
    assert dns.servers(settings) == [("127.0.0.1", 53)]
    settings.write_text("# a comment\nsearch home\nnameserver 192.0.2.53\nnameserver fe80::1%eth0\nnameserver\n")
    assert dns.servers(settings) == [("192.0.2.53", 53), ("fe80::1", 53)]


@pytest.mark.parametrize("message", [b"", bytes(12), bytes(12) + b"\x05ab", bytes(12) + b"\xc0\x0c"])
def test_what_is_no_question_is_passed_over(message: bytes) -> None:
    with pytest.raises(ValueError, match=r"the message ends too early|no label has"):
        dns.name_of(message)
