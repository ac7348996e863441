"""Opening a connection to an API server: its addresses, a proxy, TLS."""

from __future__ import annotations

import asyncio
import base64
import socket
import ssl
import struct
from collections.abc import Callable
from typing import Any, Final, TypeVar, cast
from urllib.parse import SplitResult, unquote, urlsplit

import aiohappyeyeballs

from training_operator.kube.config import ClusterConfig

P = TypeVar("P", bound=asyncio.Protocol)

CONNECT_SECONDS: Final = 10.0
SECOND_ADDRESS_SECONDS: Final = 0.25
"""After which the next address of a name is tried as well (RFC 8305)."""
UNACKNOWLEDGED_SECONDS: Final = 5
"""Unacknowledged data is dropped after so long: a write of a leader must not arrive when another one leads."""
SOCKET_OPTIONS: Final = {
    "TCP_KEEPIDLE": 30,
    "TCP_KEEPINTVL": 10,
    "TCP_KEEPCNT": 3,
    "TCP_USER_TIMEOUT": 1000 * UNACKNOWLEDGED_SECONDS,
}
"""A peer that vanished without a word is noticed within a minute, not at the end of the watch."""
HEAD_MOST: Final = 64 * 1024
"""Bytes of a proxy's answer."""
DEFAULT_PORTS: Final = {"http": 80, "https": 443}


def open_socket(address: tuple[Any, ...]) -> socket.socket:
    """Return a socket that asks a silent peer whether it is still there."""
    family, kind, protocol, *_ = address
    made = socket.socket(family, kind, protocol)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    # Closing drops what is not yet sent: of a process that has ended, nothing may arrive.
    made.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    for name, value in SOCKET_OPTIONS.items():
        if hasattr(socket, name):  # Linux has all of them
            made.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
    return made


class Connector:
    """Opens connections to one API server, through its proxy if it has one."""

    def __init__(self, config: ClusterConfig) -> None:
        self._server = urlsplit(config.server)
        self._named = f"{self._server.scheme}://{self._server.netloc.rpartition('@')[2]}"
        self._proxy = urlsplit(config.proxy) if config.proxy else None
        self._tls = config.tls
        self._name = (config.server_name or self._server.hostname) if config.tls else None

    async def connect(self, protocol: Callable[[str, asyncio.Transport], P]) -> P:
        """Return the protocol of a new connection; raises `OSError`.

        It is made with what errors call the server, and with the transport below TLS, which can be paused.
        """
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                wire = await (self._opened(self._server) if self._proxy is None else self._through(self._proxy))
                try:
                    return await self._secured(wire, protocol(self._named, wire))
                except BaseException:
                    wire.abort()
                    raise
        except TimeoutError:
            raise
        except OSError as error:
            raise ConnectionError(f"{self._named}: {error or type(error).__name__}") from error

    async def _secured(self, wire: asyncio.Transport, connection: P) -> P:
        """Begin TLS, if the server has it, and tell the protocol that it is connected."""
        transport: asyncio.BaseTransport | None = wire
        if self._tls is None:
            wire.set_protocol(connection)
        else:
            loop = asyncio.get_running_loop()
            transport = await loop.start_tls(wire, connection, self._tls, server_hostname=self._name)
        connection.connection_made(cast(asyncio.BaseTransport, transport))
        return connection

    async def _opened(self, address: SplitResult, **tls: Any) -> asyncio.Transport:
        loop, sock = asyncio.get_running_loop(), await _connected(address)
        transport, _ = await loop.create_connection(asyncio.Protocol, sock=sock, **tls)
        return transport

    async def _through(self, proxy: SplitResult) -> asyncio.Transport:
        """Have a proxy connect us (CONNECT, RFC 9110)."""
        secure, tunnel = proxy.scheme == "https", _Tunnel()
        tls = {"ssl": ssl.create_default_context(), "server_hostname": proxy.hostname} if secure else {}
        transport = await self._opened(proxy, **tls)
        transport.set_protocol(tunnel)
        try:
            transport.write(_connect_request(self._server, proxy))
            status = await tunnel.status
            if status.split(b" ")[1:2] != [b"200"]:
                raise ConnectionError(f"the proxy {proxy.hostname} has rejected the connection: {status!r}")
        except BaseException:
            transport.abort()
            raise
        return transport


class _Tunnel(asyncio.Protocol):
    """The connection to a proxy until it has answered."""

    def __init__(self) -> None:
        self.status: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        """The first line of the answer."""
        self._received = b""

    def data_received(self, data: bytes) -> None:
        self._received += data
        if self.status.done():
            return
        if b"\r\n\r\n" in self._received:
            self.status.set_result(self._received.partition(b"\r\n")[0])
        elif len(self._received) > HEAD_MOST:
            self.connection_lost(None)

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.status.done():
            self.status.set_exception(ConnectionError(str(exc or "the proxy has not answered as an HTTP proxy does")))


async def _connected(address: SplitResult) -> socket.socket:
    host, port = address.hostname or "", address.port or DEFAULT_PORTS[address.scheme]
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return await aiohappyeyeballs.start_connection(
        found, happy_eyeballs_delay=SECOND_ADDRESS_SECONDS, socket_factory=open_socket
    )


def _connect_request(server: SplitResult, proxy: SplitResult) -> bytes:
    host = f"[{server.hostname}]" if ":" in (server.hostname or "") else server.hostname
    authority = f"{host}:{server.port or DEFAULT_PORTS[server.scheme]}"
    lines = [f"CONNECT {authority} HTTP/1.1", f"Host: {authority}"]
    if proxy.username is not None:
        user = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}"
        lines.append(f"Proxy-Authorization: Basic {base64.b64encode(user.encode()).decode()}")
    return ("\r\n".join(lines) + "\r\n\r\n").encode()
