"""aiohttp's HTTP server, whose connections are let go if they ask for nothing."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from socket import socket
from typing import Any, Final

from aiohttp import web

from training_operator.connections import SECONDS_TO_ASK, Connections

CLOSING_SECONDS: Final = 1.0

Handler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]


class HttpConnections(web.Server):
    """An HTTP server that bears any number of connections."""

    def __init__(
        self, handler: Handler, *, idle_most: int, seconds_to_ask: float = SECONDS_TO_ASK, **options: Any
    ) -> None:
        """Keep `idle_most` idle connections, or fewer where this process may have few open files."""
        super().__init__(self._answer, access_log=None, **options)
        self._handler = handler
        self._kept = Connections(self, idle_most=idle_most, seconds_to_ask=seconds_to_ask)

    def listening(
        self, listeners: Sequence[socket], tls: ssl.SSLContext | None = None
    ) -> AbstractAsyncContextManager[None]:
        """Serve whoever connects to sockets that listen; they are closed at the end, connections are not."""
        return self._kept.listening(listeners, tls)

    async def close(self) -> None:
        """End all connections; what is in work has a second to end by itself."""
        self._kept.close(handshakes_only=True)
        await asyncio.sleep(0)  # requests that are there have begun
        self.pre_shutdown()
        await self.shutdown(CLOSING_SECONDS)

    def connection_made(self, handler: web.RequestHandler, transport: asyncio.Transport) -> None:
        """Begin to wait for the first request (called by the protocol)."""
        super().connection_made(handler, transport)
        self._kept.opened(handler, transport)

    def connection_lost(self, handler: web.RequestHandler, exc: BaseException | None = None) -> None:
        """Forget a connection (called by the protocol)."""
        super().connection_lost(handler, exc)
        self._kept.work(handler)

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        self._kept.work(request.protocol)
        try:
            return await self._handler(request)
        finally:
            if request.transport is not None:
                self._kept.rest(request.protocol, request.transport)
