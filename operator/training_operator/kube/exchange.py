"""Requests over kept connections, and streams over connections of their own.

aiohttp does the same in three to four times the CPU time, and takes 11 MB of memory.
"""

from __future__ import annotations

import asyncio
import sys
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Final, cast

import httptools

from training_operator.kube.config import ClusterConfig
from training_operator.kube.connecting import Connector
from training_operator.kube.transport import Response

KEPT_SECONDS: Final = 60.0
"""An API server closes idle connections after 90 s; a request must not meet that."""
BUFFERED_MOST: Final = 1024 * 1024
"""Bytes of a stream that wait to be taken; nothing more is read from the connection then."""


class NotAllowed(ConnectionError):
    """The time in which a request was allowed is over: it was not sent."""

    def __init__(self) -> None:
        super().__init__("the request is not sent: the time in which it was allowed is over")


class Connections:
    """The connections to one API server, each with one request at a time."""

    def __init__(self, config: ClusterConfig, most: int) -> None:
        """Use at most so many at once for requests, and as many for streams; 0 for any number."""
        self._connector = Connector(config)
        self._slots, self._stream_slots = (asyncio.Semaphore(most or sys.maxsize) for _ in range(2))
        self._idle: deque[tuple[float, _Exchange]] = deque()
        self._streams = set[StreamConnection]()

    async def exchange(self, head: bytes, body: bytes, allowed: Callable[[], bool] | None) -> Response:
        """Send a request and return its answer, unless it is not `allowed` once it is connected; raises `OSError`."""
        async with self._slots:
            connection = self._kept() or await self._connector.connect(_Exchange)
            try:
                if allowed is not None and not allowed():
                    raise NotAllowed
                answer = await connection.exchange(head + body)
            except NotAllowed:
                self._keep(connection)
                raise
            except BaseException:
                connection.abort()
                raise
            self._keep(connection)
            return answer

    @asynccontextmanager
    async def stream(self, head: bytes, silence: float) -> AsyncIterator[StreamConnection]:
        """Send a request and hand out its connection once the head of its answer is there.

        Raises `OSError`, also after so many seconds of `silence`.
        """
        async with self._stream_slots:
            connection = await self._connector.connect(lambda server: StreamConnection(server, silence))
            self._streams.add(connection)
            try:
                await connection.begin(head)
                yield connection
            finally:
                self._streams.discard(connection)
                connection.abort()

    def close(self) -> None:
        """Close the connections of streams, and those that wait for a request."""
        while self._idle:
            self._idle.pop()[1].abort()
        for stream in self._streams:
            stream.abort()

    def _kept(self) -> _Exchange | None:
        """Return the connection that was used last, and close those that have been idle for long."""
        now = asyncio.get_running_loop().time()
        while self._idle and now - self._idle[0][0] > KEPT_SECONDS:
            self._idle.popleft()[1].abort()
        while self._idle:
            _, connection = self._idle.pop()
            if connection.reusable:
                return connection
        return None

    def _keep(self, connection: _Exchange) -> None:
        if connection.reusable:
            self._idle.append((asyncio.get_running_loop().time(), connection))
        else:
            connection.abort()


class _Connection(asyncio.Protocol):
    """One connection; the parser calls its `on_` methods."""

    def __init__(self, server: str) -> None:
        """`server` is named in errors."""
        self._server = server
        self._transport: asyncio.Transport | None = None
        self._parser = httptools.HttpResponseParser(self)
        self._headers: dict[str, str] = {}

    def abort(self) -> None:
        """Close the connection at once."""
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's are none by class

    def data_received(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError as error:
            self._fail(error)
            self.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self._fail(exc)

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers[name.decode("latin-1").lower()] = value.decode("latin-1")

    def _broken(self, error: Exception | None) -> ConnectionError:
        return ConnectionError(f"{self._server}: {error or 'the server has closed the connection'}")

    def _write(self, request: bytes) -> None:
        assert self._transport is not None
        self._transport.write(request)

    def _fail(self, error: Exception | None) -> None:
        """Note that nothing more will come."""
        raise NotImplementedError


class _Exchange(_Connection):
    """A connection for requests with whole answers, one at a time."""

    def __init__(self, server: str) -> None:
        super().__init__(server)
        self.reusable = True
        """Whether another request may be sent."""
        self._answer: asyncio.Future[Response] | None = None
        self._parts: list[bytes] = []

    async def exchange(self, request: bytes) -> Response:
        """Send a request and return its answer."""
        self._answer = asyncio.get_running_loop().create_future()
        self._write(request)
        return await self._answer

    def abort(self) -> None:
        """Close the connection at once."""
        self.reusable = False
        super().abort()

    def data_received(self, data: bytes) -> None:
        if self._answer is None:  # the server has sent a response to no request
            self.abort()
            return
        super().data_received(data)

    def on_message_begin(self) -> None:
        if self._answer is None:  # unsolicited: the next request must not get this as its response
            self.reusable = False
        self._headers, self._parts = {}, []

    def on_body(self, body: bytes) -> None:
        self._parts.append(body)

    def on_message_complete(self) -> None:
        status = self._parser.get_status_code()
        if status < 200:  # the answer is still to come
            return
        self.reusable = self.reusable and self._parser.should_keep_alive()
        answer, self._answer = self._answer, None
        if answer is not None and not answer.done():
            answer.set_result(Response(status, b"".join(self._parts), self._headers))

    def _fail(self, error: Exception | None) -> None:
        self.reusable = False
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(self._broken(error))


class StreamConnection(_Connection):
    """A connection for one request whose answer is taken piece by piece."""

    def __init__(self, server: str, silence: float) -> None:
        """`silence`: seconds between two pieces, after which waiting raises `TimeoutError`."""
        super().__init__(server)
        self.status = 0
        self._silence = silence
        self._pieces: list[bytes] = []
        self._buffered = 0
        self._ended: Exception | bool = False
        """Whether nothing more comes; the error if that is too early."""
        self._news: asyncio.Future[None] | None = None

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers of the answer, with lower-case names."""
        return self._headers

    async def begin(self, request: bytes) -> None:
        """Send the request, and wait for the head of its answer."""
        self._write(request)
        while not self.status:
            if isinstance(self._ended, Exception):
                raise self._ended
            await self._wait()

    async def pieces(self) -> AsyncIterator[bytes]:
        """Return the body as it comes; raises `OSError` if the connection breaks before its end."""
        while self._pieces or not self._ended:
            if not self._pieces:
                await self._wait()
                continue
            taken = b"".join(self._pieces)
            self._pieces.clear()
            if self._buffered > BUFFERED_MOST and not self._ended and self._transport is not None:
                self._transport.resume_reading()
            self._buffered = 0
            yield taken
        if isinstance(self._ended, Exception):
            raise self._ended

    async def _wait(self) -> None:
        self._news = asyncio.get_running_loop().create_future()
        async with asyncio.timeout(self._silence):
            await self._news

    def _notify(self) -> None:
        if self._news is not None and not self._news.done():
            self._news.set_result(None)

    def on_headers_complete(self) -> None:
        """Called by the parser."""
        status = self._parser.get_status_code()
        if status >= 200:
            self.status = status
            self._notify()

    def on_body(self, body: bytes) -> None:
        """Called by the parser."""
        self._pieces.append(body)
        before, self._buffered = self._buffered, self._buffered + len(body)
        if before <= BUFFERED_MOST < self._buffered and self._transport is not None:
            self._transport.pause_reading()
        self._notify()

    def on_message_complete(self) -> None:
        """Called by the parser."""
        self._ended = bool(self.status)
        self._notify()

    def _fail(self, error: Exception | None) -> None:
        if self._ended is False:
            self._ended = self._broken(error)
        self._notify()
