"""Connections that have left HTTP and carry bytes both ways: the bare one, and messages of a WebSocket."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import aiohttp
from aiohttp import web

from training_local.apiserver.spdy import BLOCK, Wire


class _Handover(asyncio.StreamReaderProtocol):
    """Feeds a reader, and notifies the HTTP protocol that had the connection before when it is lost."""

    def __init__(self, reader: asyncio.StreamReader, before: asyncio.BaseProtocol) -> None:
        super().__init__(reader)
        self._before = before

    def connection_lost(self, exc: Exception | None) -> None:
        """Pass the end on (called by the transport)."""
        super().connection_lost(exc)
        self._before.connection_lost(exc)


class BareWire(Wire):
    """The connection of a request that was answered with status 101."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    @classmethod
    async def upgrade(cls, http: web.BaseRequest, headers: Mapping[str, str]) -> tuple[BareWire, web.StreamResponse]:
        """Answer `http` that the protocol changes, and take its connection over."""
        response = web.StreamResponse(status=101, headers={"Connection": "Upgrade", **headers})
        response.force_close()
        await response.prepare(http)
        transport = http.transport
        if transport is None:
            raise ConnectionResetError("the client has left")
        reader = asyncio.StreamReader(BLOCK)
        protocol = _Handover(reader, transport.get_protocol())
        protocol.connection_made(transport)
        transport.set_protocol(protocol)
        return cls(reader, asyncio.StreamWriter(transport, protocol, reader, asyncio.get_running_loop())), response

    async def read(self) -> bytes:
        """Return what has arrived; nothing at the end."""
        return await self._reader.read(BLOCK)

    async def write(self, data: bytes) -> None:
        """Send, and wait while the other side is slow."""
        self._writer.write(data)
        await self._writer.drain()

    def close(self) -> None:
        """End the connection."""
        self._writer.close()


class WebSocketWire(Wire):
    """Binary messages of a WebSocket, of whatever length, as one sequence of bytes."""

    def __init__(self, socket: web.WebSocketResponse | aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket

    async def read(self) -> bytes:
        """Return the next message; nothing at the end."""
        while True:
            message = await self._socket.receive()
            if message.type is not aiohttp.WSMsgType.BINARY:
                return b""
            if message.data:
                return bytes(message.data)

    async def write(self, data: bytes) -> None:
        """Send, and wait while the other side is slow."""
        await self._socket.send_bytes(data)
