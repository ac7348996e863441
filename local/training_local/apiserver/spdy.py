"""SPDY/3.1 on a connection that carries bytes both ways: streams that either side opens, for port forwarding."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Mapping
from typing import Final, Protocol

from training_local.apiserver.spdy_frames import Decoder, Encoder, Frame, Type

BLOCK: Final = 1 << 15
"""Bytes that are sent at once."""
_HELD_MOST: Final = 1 << 16
"""Bytes of a stream that wait for their reader; more hold up the connection, as there is no flow control."""
_REFUSED_STREAM: Final = 3
_CANCEL: Final = 5


class Wire(Protocol):
    """A connection that carries bytes both ways."""

    async def read(self) -> bytes:
        """Return what has arrived, as soon as there is anything; nothing at the end."""
        ...

    async def write(self, data: bytes) -> None:
        """Send, and wait while the other side is slow; raises `ConnectionError` if it has gone."""
        ...


class _Gate(asyncio.ReadTransport):
    """Lets no more bytes to a reader that has enough of them."""

    def __init__(self) -> None:
        super().__init__()
        self.opened = asyncio.Event()
        self.opened.set()

    def pause_reading(self) -> None:
        """Close the gate (called by the reader)."""
        self.opened.clear()

    def resume_reading(self) -> None:
        """Open the gate (called by the reader)."""
        self.opened.set()


class SpdyStream:
    """One of the streams of a connection."""

    def __init__(self, connection: SpdyConnection, id: int, headers: Mapping[str, str]) -> None:
        self.id, self.headers = id, headers
        self._connection = connection
        self._gate = _Gate()
        self._reader = asyncio.StreamReader(_HELD_MOST)
        self._reader.set_transport(self._gate)
        self._ended = False
        """Whether nothing more comes."""
        self._finished = False
        """Whether nothing more is sent."""

    async def read(self) -> bytes:
        """Return what has arrived; nothing at the end. Raises `ConnectionError` if the other side has given up."""
        return await self._reader.read(BLOCK)

    async def write(self, data: bytes) -> None:
        """Send; raises `ConnectionError` if no process listens any more."""
        if self._finished:
            raise ConnectionResetError("the stream has been closed")
        await self._connection.send(Frame(Type.DATA, self.id, data=data))

    async def finish(self) -> None:
        """Say that nothing more will be sent."""
        if not self._finished:
            self._finished = True
            await self._connection.send(Frame(Type.DATA, self.id, fin=True))
            self._connection.forget(self)

    async def reset(self) -> None:
        """Give the stream up in both directions."""
        if not (self._finished and self._ended):
            self.lose(ConnectionResetError("the stream has been given up"))
            await self._connection.send(Frame(Type.RST_STREAM, self.id, status=_CANCEL))
            self._connection.forget(self)

    async def take(self, data: bytes, *, fin: bool) -> None:
        """Keep what has arrived (called by the connection)."""
        if data and not self._ended:
            self._reader.feed_data(data)
        if fin and not self._ended:
            self._ended = True
            self._reader.feed_eof()
        if not self._ended:
            await self._gate.opened.wait()

    def lose(self, error: ConnectionError) -> None:
        """End both directions (called by the connection)."""
        self._gate.opened.set()
        if not self._ended:
            self._reader.set_exception(error)
        self._ended = self._finished = True

    @property
    def over(self) -> bool:
        """Whether both sides have said that nothing more will come."""
        return self._ended and self._finished


class SpdyConnection:
    """The streams on one wire. `run` must run meanwhile."""

    def __init__(self, wire: Wire, *, client: bool, accept: Callable[[SpdyStream], bool] = lambda _: False) -> None:
        """`accept` is given each stream that the other side opens, and returns whether to accept it."""
        self._wire, self._accept = wire, accept
        self._numbers = itertools.count(1 if client else 2, 2)
        self._pings = 1 if client else 0
        """What is left when one's own ping is divided by 2."""
        self._encoder, self._decoder = Encoder(), Decoder()
        self._sending = asyncio.Lock()
        self._streams: dict[int, SpdyStream] = {}

    async def run(self) -> None:
        """Sort what arrives until the other side leaves; raises `ConnectionError` if it cannot be understood."""
        try:
            while data := await self._wire.read():
                for frame in self._decoder.decode(data):
                    if frame.type is Type.GOAWAY:
                        return
                    await self._take(frame)
        finally:
            for stream in tuple(self._streams.values()):
                stream.lose(ConnectionResetError("the connection has ended"))
            self._streams.clear()

    async def open(self, headers: Mapping[str, str], *, fin: bool = False) -> SpdyStream:
        """Open a stream; with `fin` nothing will be sent on it."""
        stream = SpdyStream(self, next(self._numbers), headers)
        self._streams[stream.id] = stream
        await self.send(Frame(Type.SYN_STREAM, stream.id, headers=headers))
        if fin:
            await stream.finish()
        return stream

    async def send(self, frame: Frame) -> None:
        """Send a frame; raises `ConnectionError` if the other side has gone."""
        async with self._sending:  # headers are compressed in the order in which they arrive
            await self._wire.write(self._encoder.encode(frame))

    def forget(self, stream: SpdyStream) -> None:
        """Let go of a stream, once both sides have finished it."""
        if stream.over:
            self._streams.pop(stream.id, None)

    async def _take(self, frame: Frame) -> None:
        if frame.type is Type.SYN_STREAM:
            await self._opened(frame)
        elif frame.type is Type.PING and frame.id % 2 != self._pings:
            await self.send(frame)
        elif stream := self._streams.get(frame.id):
            if frame.type is Type.RST_STREAM:
                stream.lose(ConnectionResetError("the other side has given up"))
            elif frame.type in (Type.DATA, Type.SYN_REPLY):
                await stream.take(frame.data, fin=frame.fin)
            self.forget(stream)

    async def _opened(self, frame: Frame) -> None:
        stream = SpdyStream(self, frame.id, frame.headers)
        if frame.id in self._streams or not self._accept(stream):
            await self.send(Frame(Type.RST_STREAM, frame.id, status=_REFUSED_STREAM))
            return
        self._streams[stream.id] = stream
        await self.send(Frame(Type.SYN_REPLY, stream.id))
        await stream.take(b"", fin=frame.fin)
