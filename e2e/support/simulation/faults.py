"""A transport that loses, delays and rejects as a seed says, and that can be cut off like a process that died."""

from __future__ import annotations

import asyncio
import json
import math
import random
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from training_operator.kube.transport import Request, Response, Stream, Transport

READS = ("GET",)


@dataclass(slots=True)
class Faults:
    """How likely each fault is per request or line; all 0 is a perfect network."""

    conflict: float = 0.0
    too_many: float = 0.0
    server_error: float = 0.0
    lost_request: float = 0.0
    lost_answer: float = 0.0
    dropped_watch: float = 0.0
    slow_watch: float = 0.0
    latency: float = 0.01
    """Longest time of a request, in seconds."""
    watch_delay: float = 3.0
    """Longest delay of a line of a slow watch, in seconds."""


class FaultyTransport:
    """The network of one operator process.

    After `die_after` writes were carried out, the process is as good as dead: no request of it gets anywhere or comes
    back any more, and `died` is set.
    """

    def __init__(
        self,
        inner: Transport,
        rng: random.Random,
        faults: Faults,
        *,
        die_after: int | None = None,
        observe: Callable[[Request, Response], None] = lambda request, answer: None,
    ) -> None:
        self._inner = inner
        self._rng = rng
        self.faults = faults
        self.reject: Callable[[Request], Response | None] = lambda request: None
        """What this test rejects, next to what chance does."""
        self.lose_answer: Callable[[Request], bool] = lambda request: False
        """Which answers this test loses, next to those that chance does."""
        self.delay: Callable[[Request], float] = lambda request: 0.0
        """By how many seconds this test delays answers, next to what chance does."""
        self.frozen: Callable[[Request], bool] = lambda request: False
        """Which watches deliver nothing any more."""
        self.die_after = die_after
        self._observe = observe
        self.died = asyncio.Event()
        self.writes = 0
        self.in_flight = 0
        self.most_in_flight = 0
        self.sent: list[Request] = []
        """Every request, also those that got lost."""

    async def request(self, request: Request) -> Response:
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            return await self._request(request)
        finally:
            self.in_flight -= 1

    async def _request(self, request: Request) -> Response:
        await self._live()
        self.sent.append(request)
        if self.faults.latency:
            await asyncio.sleep(self._rng.random() * self.faults.latency)
            await self._live()
        if (rejection := self._rejection(request)) is not None:
            return rejection
        if self._happens(self.faults.lost_request):
            raise TimeoutError("the request was lost")
        answer = await self._inner.request(request)
        self._observe(request, answer)
        if request.method not in READS and answer.status < 300:
            self.writes += 1
            if self.writes == self.die_after:
                self.died.set()
                await self._live()
        await asyncio.sleep(self.delay(request))
        if self.lose_answer(request) or self._happens(self.faults.lost_answer):
            raise TimeoutError("the answer was lost")
        return answer

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncIterator[Stream]:
        await self._live()
        if (rejection := self._rejection(request)) is not None:
            yield Stream(rejection.status, _nothing(), rejection.body, rejection.headers)
            return
        async with self._inner.stream(request) as stream:
            yield Stream(stream.status, self._lines(request, stream.lines), stream.body, stream.headers)

    async def close(self) -> None:
        """The server belongs to the test."""

    async def _lines(self, request: Request, lines: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        async for line in lines:
            await self._live()
            if self.frozen(request):
                await asyncio.get_running_loop().create_future()
            if self._happens(self.faults.slow_watch):
                await asyncio.sleep(self._rng.random() * self.faults.watch_delay)
                await self._live()
            if self._happens(self.faults.dropped_watch):
                raise ConnectionResetError("the watch was dropped")
            yield line

    def _rejection(self, request: Request) -> Response | None:
        if (rejection := self.reject(request)) is not None:
            return rejection
        if self._happens(self.faults.too_many):
            return status(429, "TooManyRequests", "the server has received too many requests", {"retry-after": "1"})
        if self._happens(self.faults.server_error):
            return status(500, "InternalError", "something is wrong inside")
        if request.method == "PATCH" and self._happens(self.faults.conflict):
            return status(409, "Conflict", "the object has been modified")
        return None

    def _happens(self, probability: float) -> bool:
        return probability > 0 and self._rng.random() < probability

    async def _live(self) -> None:
        """Continue, unless the process is dead: then never."""
        if self.died.is_set():
            await asyncio.get_running_loop().create_future()


def rejecting(
    answer: Response, *words: str, method: str = "", name: str = "", times: float = math.inf
) -> Callable[[Request], Response | None]:
    """Answers requests whose path has one of these words; of this method, and with this in the name of the object."""
    left = times

    def reject(request: Request) -> Response | None:
        nonlocal left
        meant = method in ("", request.method) and (not words or not set(words).isdisjoint(request.path.split("/")))
        if meant and name:
            meant = name in json.loads(request.body or b"")["metadata"]["name"]
        if not meant or not left:
            return None
        left -= 1
        return answer

    return reject


def status(code: int, reason: str, message: str, headers: dict[str, str] | None = None) -> Response:
    """A rejection as the API server words it."""
    body = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "message": message}
    return Response(code, json.dumps(body | {"code": code}).encode(), headers or {})


async def _nothing() -> AsyncIterator[bytes]:
    return
    yield b""
