"""What stands between the pods of one job and the outside: it makes their connections for them, and asks for names."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Callable
from typing import Final

from training_local.node.egress import dns, proxy
from training_local.node.egress.mode import NetworkMode
from training_local.node.egress.policy import NotAllowedError, destination
from training_local.node.sandbox.client import Supervisor
from training_local.relay import Service, TcpEnd, relay

REDIRECT_PORT: Final = 3129
MOST_CONNECTIONS: Final = 1024
"""Of the pods of one job to the outside, at a time."""
_ORIGINAL_DESTINATION: Final = 80
"""SO_ORIGINAL_DST"""
_CONNECT_SECONDS: Final = 60.0


class Gateway:
    """Serves the pods of one supervisor."""

    def __init__(self, mode: NetworkMode, is_of_cluster: Callable[[str], bool]) -> None:
        self._mode = mode
        serve = self._serve_proxy if mode is NetworkMode.PROXY else self._serve_redirected
        self._outward = Service(serve, MOST_CONNECTIONS)
        self._names = Service(self._serve_names, MOST_CONNECTIONS)
        self._dns = dns.DnsServer(is_of_cluster)
        self._servers: list[asyncio.Server] = []

    async def open(self, supervisor: Supervisor) -> None:
        """Begin to serve; raises `SandboxError`."""
        port = proxy.PORT if self._mode is NetworkMode.PROXY else REDIRECT_PORT
        outward, names, datagrams = await asyncio.gather(
            supervisor.open_listener(port), supervisor.open_listener(dns.PORT), supervisor.open_datagrams(dns.PORT)
        )
        for service, listener in ((self._outward, outward), (self._names, names)):
            self._servers.append(await asyncio.start_server(service.accept, sock=listener))
        await asyncio.get_running_loop().create_datagram_endpoint(lambda: self._dns, sock=datagrams)

    async def close(self) -> None:
        """End every connection."""
        for server in self._servers:
            server.close()
        if self._servers:
            self._dns.close()
        await asyncio.gather(self._outward.close(), self._names.close())

    async def _serve_redirected(self, pod: TcpEnd) -> None:
        packed = pod.socket.getsockopt(socket.SOL_IP, _ORIGINAL_DESTINATION, 16)
        port, address = struct.unpack_from("!2xH4s", packed)
        await _join(pod, await _connect(destination(socket.inet_ntoa(address), self._mode), port))

    async def _serve_names(self, pod: TcpEnd) -> None:
        """Pass on questions whose answers are too long for a datagram."""
        await _join(pod, await _connect(*dns.servers()[0]))

    async def _serve_proxy(self, pod: TcpEnd) -> None:
        try:
            host, port, first = await proxy.request(pod.reader)
            outside = await self._connect_by_name(host, port)
        except proxy.BadRequestError as error:
            await pod.write(proxy.answer("400 Bad Request", str(error)))
        except NotAllowedError as error:
            await pod.write(proxy.answer("403 Forbidden", str(error)))
        except OSError as error:
            await pod.write(proxy.answer("502 Bad Gateway", f"{host}:{port}: {error}"))
        else:
            if first:
                await outside.write(first)
            else:
                await pod.write(proxy.answer("200 Connection established"))
            await _join(pod, outside)

    async def _connect_by_name(self, host: str, port: int) -> TcpEnd:
        failure: OSError = ConnectionError("it has no address")
        for address in await proxy.addresses(host, port):
            try:
                return await _connect(destination(address, self._mode), port)
            except OSError as error:
                failure = error
        raise failure


async def _connect(address: str, port: int) -> TcpEnd:
    async with asyncio.timeout(_CONNECT_SECONDS):
        return TcpEnd(*await asyncio.open_connection(address, port))


async def _join(pod: TcpEnd, outside: TcpEnd) -> None:
    try:
        await relay(pod, outside)
    finally:
        outside.close()
