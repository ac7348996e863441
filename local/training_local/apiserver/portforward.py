"""The subresource `portforward` of pods: TCP connections to a pod's ports, over one connection that has left HTTP.

Protocol `portforward.k8s.io` on SPDY/3.1 (kubectl up to 1.30), the same within a WebSocket (since 1.31).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final

from aiohttp import web

from training_local.apiserver.errors import Json, bad_request
from training_local.apiserver.exec import UPGRADE_REQUIRED
from training_local.apiserver.request_info import RequestInfo
from training_local.apiserver.spdy import SpdyConnection, SpdyStream
from training_local.apiserver.state import State
from training_local.apiserver.wires import BareWire, WebSocketWire
from training_local.relay import End, TcpEnd, relay

PROTOCOL: Final = "portforward.k8s.io"
SPDY: Final = "SPDY/3.1"
TUNNEL: Final = f"{SPDY}+{PROTOCOL}"
"""Subprotocol of a WebSocket whose messages are SPDY."""
STREAM_TYPE, PORT, REQUEST_ID = "streamtype", "port", "requestid"
DATA, ERROR = "data", "error"

MOST_CONNECTIONS: Final = 256
"""Forwarded over one connection of a client at a time."""
PAIR_SECONDS: Final = 30.0
"""How long the second stream of a pair may take, as the kubelet has it."""
_LONGEST_MESSAGE: Final = 32 << 20

Dial = Callable[[int], Awaitable[TcpEnd]]
"""Connects with a port of a pod; raises `OSError` with a sentence."""


def forward_request(state: State, target: RequestInfo, dial: Callable[[Json], Dial] | None) -> Dial:
    """Return how to connect with a pod, as its node says (`dial`); raises `ApiError` if it has none or does not run."""
    pod = state.require(target.type, target.namespace, target.name).object()
    if not pod["spec"].get("nodeName") or dial is None:
        raise bad_request(f"pod {target.name} does not have a host assigned")
    return dial(pod)


async def forward(http: web.BaseRequest, dial: Dial) -> web.StreamResponse:
    """Connect with ports of a pod, as the client asks, until it leaves; raises `ApiError` before the upgrade."""
    upgrade = http.headers.get("Upgrade", "").lower()
    if upgrade == SPDY.lower():
        return await _forward_bare(http, dial)
    if upgrade != "websocket":
        raise bad_request(UPGRADE_REQUIRED)
    offered = [each.strip() for each in http.headers.get("Sec-WebSocket-Protocol", "").split(",")]
    if TUNNEL not in offered:
        raise bad_request(f"unable to negotiate a WebSocket subprotocol: {TUNNEL} is known, not {offered}")
    socket = web.WebSocketResponse(protocols=(TUNNEL,), compress=False, max_msg_size=_LONGEST_MESSAGE, timeout=1)
    await socket.prepare(http)
    try:
        await _serve(WebSocketWire(socket), dial)
    finally:
        await socket.close()
    return socket


async def _forward_bare(http: web.BaseRequest, dial: Dial) -> web.StreamResponse:
    offered = [
        part.strip() for each in http.headers.getall("X-Stream-Protocol-Version", []) for part in each.split(",")
    ]
    if PROTOCOL not in offered:
        raise bad_request(f"unable to upgrade: the client supports {offered}, the server {PROTOCOL}")
    wire, response = await BareWire.upgrade(http, {"Upgrade": SPDY, "X-Stream-Protocol-Version": PROTOCOL})
    try:
        await _serve(wire, dial)
    finally:
        wire.close()
    return response


async def _serve(wire: BareWire | WebSocketWire, dial: Dial) -> None:
    pairs = _Pairs(dial)
    try:
        with suppress(ConnectionError):  # the client has left, or breaks the protocol
            await SpdyConnection(wire, client=False, accept=pairs.accept).run()
    finally:
        await pairs.close()


class _Pairs:
    """The forwarded connections of one client: two streams for each, one of which carries errors."""

    def __init__(self, dial: Dial) -> None:
        self._dial = dial
        self._waiting: dict[str, tuple[SpdyStream, asyncio.Task[None]]] = {}
        """The first stream of a pair, and what gives it up."""
        self._tasks: set[asyncio.Task[None]] = set()

    def accept(self, stream: SpdyStream) -> bool:
        """Take a stream that the client has opened, unless it is none of this protocol or one too many."""
        kind, port, id = (stream.headers.get(name, "") for name in (STREAM_TYPE, PORT, REQUEST_ID))
        valid = kind in (DATA, ERROR) and port.isascii() and port.isdecimal() and 0 < int(port) < 1 << 16
        if not valid:
            return False
        if id not in self._waiting:
            if len(self._tasks) >= MOST_CONNECTIONS:
                return False
            self._waiting[id] = stream, self._spawn(self._give_up(id, stream))
            return True
        first, expiry = self._waiting[id]
        if first.headers[STREAM_TYPE] == kind:
            return False
        expiry.cancel()
        del self._waiting[id]
        data, error = (first, stream) if kind == ERROR else (stream, first)
        self._spawn(self._connect(_Pair(data, error), int(port)))
        return True

    def _spawn(self, work: Awaitable[None]) -> asyncio.Task[None]:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def close(self) -> None:
        """End every forwarded connection."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _give_up(self, id: str, stream: SpdyStream) -> None:
        await asyncio.sleep(PAIR_SECONDS)
        self._waiting.pop(id, None)
        with suppress(ConnectionError):
            await stream.reset()

    async def _connect(self, pair: _Pair, port: int) -> None:
        with suppress(ConnectionError):
            try:
                target = await self._dial(port)
            except OSError as error:
                await pair.fail(str(error))
                return
            try:
                await relay(pair, target)
            finally:
                target.close()
                await pair.reset()


class _Pair(End):
    """A forwarded connection: one stream for bytes, one for what goes wrong."""

    def __init__(self, data: SpdyStream, error: SpdyStream) -> None:
        self._data, self._error = data, error

    async def read(self) -> bytes:
        """Return what the client has sent; nothing at the end."""
        return await self._data.read()

    async def write(self, data: bytes) -> None:
        """Send to the client."""
        await self._data.write(data)

    async def finish(self) -> None:
        """Say that nothing more will come; kubectl waits for the end of both streams."""
        await self._data.finish()
        await self._error.finish()

    async def fail(self, message: str) -> None:
        """Say why there is no connection."""
        await self._error.write(message.encode())
        await self._error.finish()
        await self._data.reset()

    async def reset(self) -> None:
        """Give both streams up."""
        await self._error.finish()
        await self._data.reset()
