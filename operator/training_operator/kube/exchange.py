"""Requests over kept connections, and streams over connections of their own.

aiohttp does the same in three to four times the CPU time, and takes 11 MB of memory.
"""

from __future__ import annotations

import asyncio
import math
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
SWEEP_SECONDS: Final = 0.5
"""So much later than asked waiting may end: a timer of its own for each wait takes 5 us."""
BUFFERED_MOST: Final = 1024 * 1024
"""Bytes of a stream that wait to be taken; nothing more is read from the connection then."""
GATHER_SECONDS: Final = 0.02
"""After so long a stream is read again: a hundred changes that come meanwhile cost little more than one."""
GATHERED_BYTES: Final = 64 * 1024
"""A stream of which so much comes at once is read on without a pause."""


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
        self._busy = set[_Connection]()
        """Those that wait for an answer, or for the next piece of one."""
        self._sweeper: asyncio.TimerHandle | None = None
        self._loop = asyncio.get_running_loop()

    async def exchange(self, request: bytes, seconds: float, allowed: Callable[[], bool] | None) -> Response:
        """Send a request and return its answer, unless it is not `allowed` once it is connected.

        Raises `OSError`; that is `TimeoutError` if there is no answer after some `seconds`.
        """
        deadline = self._loop.time() + seconds
        connection = await self._taken(deadline)
        try:
            if allowed is not None and not allowed():
                self._keep(connection)
                raise NotAllowed
            connection.deadline = deadline
            self._begin(connection)
            try:
                answer = await connection.send(request)
            except BaseException:
                connection.abort()
                raise
            finally:
                self._busy.discard(connection)
            self._keep(connection)
            return answer
        finally:
            self._slots.release()

    @asynccontextmanager
    async def stream(self, head: bytes, silence: float) -> AsyncIterator[StreamConnection]:
        """Send a request and hand out its connection once the head of its answer is there.

        Raises `OSError`, also after so many seconds of `silence`.
        """
        async with self._stream_slots:
            connection = await self._connector.connect(lambda server, wire: StreamConnection(server, wire, silence))
            self._begin(connection)
            try:
                await connection.begin(head)
                yield connection
            finally:
                self._busy.discard(connection)
                connection.abort()

    def close(self) -> None:
        """Close the connections of streams, and those that wait for a request."""
        while self._idle:
            self._idle.pop()[1].abort()
        for connection in self._busy:
            if isinstance(connection, StreamConnection):
                connection.abort()

    async def _taken(self, deadline: float) -> _Exchange:
        """Take a slot, and a connection that was kept or else a new one; raises `OSError`."""
        if not self._slots.locked() and (kept := self._kept()) is not None:
            await self._slots.acquire()  # does not wait, so no timer is needed
            return kept
        async with asyncio.timeout_at(deadline):
            await self._slots.acquire()
            try:
                return self._kept() or await self._connector.connect(_Exchange)
            except BaseException:
                self._slots.release()
                raise

    def _begin(self, connection: _Connection) -> None:
        self._busy.add(connection)
        if self._sweeper is None:
            self._sweeper = self._loop.call_later(SWEEP_SECONDS, self._sweep)

    def _sweep(self) -> None:
        """Give up what has waited for too long."""
        now = self._loop.time()
        for connection in [each for each in self._busy if each.deadline <= now]:
            connection.give_up()
        self._sweeper = self._loop.call_later(SWEEP_SECONDS, self._sweep) if self._busy else None

    def _kept(self) -> _Exchange | None:
        """Return the connection that was used last, and close those that have been idle for long."""
        now = self._loop.time()
        while self._idle and now - self._idle[0][0] > KEPT_SECONDS:
            self._idle.popleft()[1].abort()
        while self._idle:
            _, connection = self._idle.pop()
            if connection.reusable:
                return connection
        return None

    def _keep(self, connection: _Exchange) -> None:
        if connection.reusable:
            self._idle.append((self._loop.time(), connection))
        else:
            connection.abort()


class _Connection(asyncio.Protocol):
    """One connection; the parser calls what is named `on_`."""

    def __init__(self, server: str, wire: asyncio.Transport) -> None:
        """`server` is named in errors; `wire` is the transport below TLS."""
        self._server = server
        self._wire = wire
        self.deadline = math.inf
        """When waiting ends, by the clock of the event loop."""
        self._transport: asyncio.Transport | None = None
        self._raw_headers: dict[bytes, bytes] = {}
        self.on_header = self._raw_headers.__setitem__  # an answer has ten, of which hardly any is read
        self._parser = httptools.HttpResponseParser(self)

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers of the answer, with lower-case names."""
        return {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in self._raw_headers.items()}

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
            self._fail(self._broken(error))
            self.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self._fail(self._broken(exc))

    def give_up(self) -> None:
        """Wait no longer: nothing has come in time."""
        self._fail(TimeoutError(f"{self._server} has not answered in time"))

    def _broken(self, error: Exception | None) -> ConnectionError:
        return ConnectionError(f"{self._server}: {error or 'the server has closed the connection'}")

    def _write(self, request: bytes) -> None:
        assert self._transport is not None
        self._transport.write(request)

    def _fail(self, error: OSError) -> None:
        """Note why nothing more will come."""
        raise NotImplementedError


class _Exchange(_Connection):
    """A connection for requests with whole answers, one at a time."""

    def __init__(self, server: str, wire: asyncio.Transport) -> None:
        self._parts: list[bytes] = []
        self.on_body = self._parts.append
        super().__init__(server, wire)
        self.reusable = True
        """Whether another request may be sent."""
        self._answer: asyncio.Future[Response] | None = None

    def send(self, request: bytes) -> asyncio.Future[Response]:
        """Send a request and return its answer, which is still to come."""
        self._answer = answer = asyncio.get_running_loop().create_future()
        self._write(request)
        return answer

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
        self._raw_headers.clear()
        self._parts.clear()

    def on_message_complete(self) -> None:
        status = self._parser.get_status_code()
        if status < 200:  # the answer is still to come
            return
        self.reusable = self.reusable and self._parser.should_keep_alive()
        answer, self._answer = self._answer, None
        if answer is not None and not answer.done():
            answer.set_result(Response(status, b"".join(self._parts), {} if status < 300 else self.headers))

    def _fail(self, error: OSError) -> None:
        self.reusable = False
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(error)


class StreamConnection(_Connection):
    """A connection for one request whose answer is taken piece by piece."""

    def __init__(self, server: str, wire: asyncio.Transport, silence: float) -> None:
        """`silence`: seconds between two pieces, after which waiting raises `TimeoutError`."""
        super().__init__(server, wire)
        self.status = 0
        self._silence = silence
        self._loop = asyncio.get_running_loop()
        self._pieces: list[bytes] = []
        self._buffered = 0
        self._ended: Exception | bool = False
        """Whether nothing more comes; the error if that is too early."""
        self._news: asyncio.Future[None] | None = None

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
            full, self._buffered = self._buffered > BUFFERED_MOST, 0
            if full:
                self._read_on()
            yield taken
        if isinstance(self._ended, Exception):
            raise self._ended

    async def _wait(self) -> None:
        self._news = self._loop.create_future()
        self.deadline = self._loop.time() + self._silence
        await self._news
        self.deadline = math.inf

    def _notify(self) -> None:
        if self._news is not None and not self._news.done():
            self._news.set_result(None)

    def data_received(self, data: bytes) -> None:
        """Called by the transport."""
        super().data_received(data)
        if len(data) < GATHERED_BYTES or self._buffered > BUFFERED_MOST:
            self._wire.pause_reading()
            self._loop.call_later(GATHER_SECONDS, self._read_on)

    def _read_on(self) -> None:
        if self._buffered <= BUFFERED_MOST and not self._wire.is_closing():
            self._wire.resume_reading()

    def on_headers_complete(self) -> None:
        """Called by the parser."""
        status = self._parser.get_status_code()
        if status >= 200:
            self.status = status
            self._notify()

    def on_body(self, body: bytes) -> None:
        """Called by the parser."""
        self._pieces.append(body)
        self._buffered += len(body)
        self._notify()

    def on_message_complete(self) -> None:
        """Called by the parser."""
        self._ended = bool(self.status)
        self._notify()

    def _fail(self, error: OSError) -> None:
        if self._ended is False:
            self._ended = error
        self._notify()
