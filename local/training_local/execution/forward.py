"""The client of the API's `portforward`: ports of a pod on this machine's loopback interface.

SPDY within a WebSocket, as kubectl has it since 1.31; each connection has one of its own, and waits for no other.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

import aiohttp

from training_local.apiserver.portforward import DATA, ERROR, PORT, REQUEST_ID, STREAM_TYPE, TUNNEL
from training_local.apiserver.spdy import SpdyConnection, SpdyStream
from training_local.apiserver.wires import WebSocketWire
from training_local.errors import BadInput
from training_local.execution.client import failure_status
from training_local.relay import TcpEnd, relay

_CONNECT_SECONDS: Final = 30.0
_ERROR_SECONDS: Final = 0.5


class ForwardError(BadInput):
    """The port cannot be reached; the message says why."""


class PodGone(ForwardError):
    """The pod cannot be reached at all; the message is the server's sentence."""


@dataclass(frozen=True, slots=True)
class PodPort:
    """A port of a pod behind an API server, and how to speak with that."""

    session: aiohttp.ClientSession
    server: str
    namespace: str
    pod: str
    port: int
    server_hostname: str | None = None
    proxy: str | None = None

    @property
    def url(self) -> str:
        """The subresource."""
        return f"{self.server.rstrip('/')}/api/v1/namespaces/{self.namespace}/pods/{self.pod}/portforward"

    async def listens(self) -> bool:
        """Return whether something listens there: it need not speak first, but an error comes at once."""
        async with self._connected() as (data, error):
            try:
                async with asyncio.timeout(_ERROR_SECONDS):
                    return not await _message(error)
            except TimeoutError:
                return True
            finally:
                await data.reset()

    async def forward(self, local: TcpEnd) -> None:
        """Pass bytes between a local connection and the port until both have ended; raises `ForwardError`."""
        async with self._connected() as (data, error):
            await relay(local, data)
            async with asyncio.timeout(_CONNECT_SECONDS):
                if said := await _message(error):
                    raise ForwardError(said)

    @asynccontextmanager
    async def _connected(self) -> AsyncIterator[tuple[SpdyStream, SpdyStream]]:
        """Yield the stream for data and the one for errors."""
        async with asyncio.timeout(_CONNECT_SECONDS):
            socket = await self._connect()
        async with socket:
            connection = SpdyConnection(WebSocketWire(socket), client=True)
            running = asyncio.create_task(connection.run())
            try:
                headers = {PORT: str(self.port), REQUEST_ID: "0"}
                error = await connection.open({**headers, STREAM_TYPE: ERROR}, fin=True)
                yield await connection.open({**headers, STREAM_TYPE: DATA}), error
            finally:
                running.cancel()
                await asyncio.gather(running, return_exceptions=True)

    async def _connect(self) -> aiohttp.ClientWebSocketResponse:
        try:
            return await self.session.ws_connect(
                self.url,
                protocols=(TUNNEL,),
                max_msg_size=0,
                server_hostname=self.server_hostname,
                proxy=self.proxy,
            )
        except aiohttp.WSServerHandshakeError:
            status = await failure_status(self.session, self.url, (), self.pod)
            raise PodGone(str(status.get("message") or f"pod {self.pod} cannot be reached")) from None
        except aiohttp.ClientConnectorError as error:
            raise PodGone(f"the cluster cannot be reached: {error}") from None
        except aiohttp.ClientError as error:
            raise ConnectionError(str(error)) from None


async def _message(error: SpdyStream) -> str:
    """Return what went wrong; nothing if the stream ends without a word."""
    said = b""
    while data := await error.read():
        said += data
    return said.decode(errors="replace")
