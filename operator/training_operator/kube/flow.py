"""Flow control and rate limit of requests: fair between namespaces and jobs, as many at once as the server bears."""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from enum import IntEnum
from typing import Final

IN_FLIGHT: Final = 32
"""Most requests at a time; more make no busy server faster, but each waits for all that came before it, of any job."""
RESERVED: Final = 32
"""Places beyond the limit that only statuses may take: they are small, and what jobs are known by."""
PASSES: Final = 8
"""So many requests of other lanes go before one that waits in a later lane."""
BESIDE_STATUSES: Final = 4
"""Requests of finished jobs' clean-up that may be in flight while statuses are, or wait."""
CALM: Final = 4
"""With fewer other requests in flight than this, there is nothing that those in the background could hold up."""
FEWEST: Final = 16
"""Requests at a time that no slow answer takes from us: a busy machine takes its time to send the next."""
SLOW_SECONDS: Final = 0.1
"""What takes no longer is not slow, whatever it takes at other times."""
SLOWER: Final = 2.0
"""So many times as long as usual is slow."""
SMOOTHING: Final = 0.125
"""Weight of the newest answer in what is usual."""


class AdaptiveLimit:
    """How many requests may be in flight: one more per round of successes, half when the server is overloaded.

    A quarter less after a round that took much longer than such requests do while few are in flight: they wait at the
    server then, where a small job's come after all that a large one has sent, and not here, where they take turns.
    """

    def __init__(self, largest: int = IN_FLIGHT, start: int = IN_FLIGHT) -> None:
        self._largest = largest
        self._now = min(start, largest)
        self._usual: dict[str, float] = {}
        """Seconds that each kind of request takes while few are in flight."""
        self._begin_round()

    @property
    def now(self) -> int:
        """The current limit."""
        return self._now

    def succeeded(self, what: str = "", seconds: float = 0.0, beside: int = IN_FLIGHT) -> None:
        """Note an answer that is no sign of overload: to what, after how long, and `beside` how many other requests."""
        if beside < CALM:
            usual = self._usual.get(what, seconds)
            self._usual[what] = usual + SMOOTHING * (seconds - usual)
        self._successes += 1
        self._took += seconds
        self._expected += self._usual.get(what, seconds)
        if self._successes >= self._now:
            slow = self._took > SLOW_SECONDS * self._successes and self._took > SLOWER * self._expected
            fewer = max(self._now * 3 // 4, min(FEWEST, self._now))
            self._now = fewer if slow else min(self._now + 1, self._largest)
            self._begin_round()

    def overloaded(self) -> None:
        """Note a rejection for overload, or a time-out."""
        self._now = max(self._now // 2, 1)
        self._begin_round()

    def _begin_round(self) -> None:
        self._successes = 0
        self._took = self._expected = 0.0


class TokenBucket:
    """At most `rate` requests per second in the long run, `burst` at once; time is given, not taken."""

    __slots__ = ("_burst", "_filled_at", "_rate", "_tokens")

    def __init__(self, rate: float, burst: int) -> None:
        self._rate = rate
        self._burst = burst
        self._tokens: float = burst
        self._filled_at = 0.0

    def wait(self, now: float) -> float:
        """Seconds until there is a token; 0 if there is one."""
        self._tokens = min(self._burst, self._tokens + (now - self._filled_at) * self._rate)
        self._filled_at = now
        # A timer may fire a rounding error early.
        return max(1 - self._tokens, 0.0) / self._rate if self._tokens < 1 - 1e-9 else 0.0

    def take(self) -> None:
        """Take one token; urgent requests may leave the bucket below zero."""
        self._tokens -= 1


class Lane(IntEnum):
    """What a request is for: the first lane in which one waits has the next place."""

    FINAL = 0
    """The status with which a job ends."""
    STATUS = 1
    WORK = 2
    CLEANUP = 3
    """What is left of jobs that have ended."""
    BACKGROUND = 4
    """What nothing waits for; while others are in flight, one of them at a time is let through."""


_LANES: Final = tuple(Lane)
"""Looking at an enumeration for each request takes time."""


class FairGate:
    """Lets requests through, lane by lane; in a lane, one of each waiting tenant in turn.

    Of a tenant's flows each has its turn, too, so that many flows get no more than few of another tenant. No lane is
    passed by more than `PASSES` requests of those before it.
    """

    def __init__(self, limit: AdaptiveLimit | None = None, bucket: TokenBucket | None = None) -> None:
        self._limit = limit or AdaptiveLimit()
        self._bucket = bucket
        self._in_flight = [0] * len(_LANES)
        self._through = 0
        """The sum of those."""
        self._waiting = [_RoundRobin() for _ in _LANES]
        self._queued = 0
        self._passed = [0] * len(_LANES)
        """By how many requests of other lanes those that wait have been passed since one of them went."""
        self._timer: asyncio.TimerHandle | None = None
        self._closed = False
        self._answered = asyncio.Event()
        """Set whenever nothing is in flight but what is in the background."""

    @property
    def limit(self) -> AdaptiveLimit:
        """The limit, which learns from the answers to requests."""
        return self._limit

    @property
    def in_flight(self) -> int:
        """The number of requests that are through and not yet done."""
        return self._through

    async def enter(self, flow: str, *, tenant: str = "", lane: Lane = Lane.WORK) -> None:
        """Wait for a turn, which `leave` ends; requests of one flow and lane stay in order.

        A context manager would be another two coroutines for each request.
        """
        if self._may_pass(lane):
            self._let_through(lane)
            return
        place = asyncio.get_running_loop().create_future()
        self._waiting[lane].add(tenant, flow, place)
        self._queued += 1
        self._admit()
        try:
            await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled():
                self.leave(lane)
            raise

    def _may_pass(self, lane: Lane) -> bool:
        """Whether there is a place, and nothing waits that has its turn before."""
        if self._through >= self._limit.now + RESERVED or not self._is_free_for(lane, overdue=False):
            return False
        for each, waiting in zip(_LANES, self._waiting, strict=True) if self._queued else ():
            if waiting.tenants and (each <= lane or self._passed[each] >= PASSES):
                return False
        return True

    async def close(self) -> None:
        """Let nothing more through but what is in the background, and wait for the end of what is in flight.

        What waits for its turn, or comes later, waits until it is cancelled.
        """
        self._closed = True
        if self._foreground:
            self._answered.clear()
            await self._answered.wait()

    @property
    def _foreground(self) -> int:
        return self._through - self._in_flight[Lane.BACKGROUND]

    def leave(self, lane: Lane) -> None:
        """End a turn in this lane."""
        self._in_flight[lane] -= 1
        self._through -= 1
        if not self._foreground:
            self._answered.set()
        self._admit()

    def _admit(self) -> None:
        """Hand out free places; does not wait, so that no place is free while a request waits that may take it."""
        while self._queued and (lane := self._next()) is not None:
            place = self._waiting[lane].take()
            self._queued -= 1
            if place.done():  # its waiter was cancelled
                continue
            self._let_through(lane)
            place.set_result(None)

    def _let_through(self, lane: Lane) -> None:
        if self._bucket is not None:
            self._bucket.take()
        self._in_flight[lane] += 1
        self._through += 1
        self._passed[lane] = 0
        for later in _LANES[lane + 1 :] if self._queued else ():
            self._passed[later] += bool(self._waiting[later].tenants)

    def _next(self) -> Lane | None:
        """The lane that has the next place, if there is one: one that is overdue, or the first that waits."""
        if self._through >= self._limit.now + RESERVED:
            return None
        first = None
        for lane, waiting in zip(_LANES, self._waiting, strict=True):
            if not waiting.tenants:
                continue
            if self._passed[lane] >= PASSES and self._is_free_for(lane, overdue=True):
                return lane
            if first is None and self._is_free_for(lane, overdue=False):
                first = lane
        return first

    def _is_free_for(self, lane: Lane, *, overdue: bool) -> bool:
        if self._closed and lane is not Lane.BACKGROUND:
            return False
        urgent = lane <= Lane.STATUS
        if self._through >= self._limit.now and not urgent and not overdue:
            return False
        if lane is Lane.BACKGROUND and self._in_flight[lane] and not self._is_calm():
            return False
        if lane is Lane.CLEANUP and self._in_flight[lane] >= BESIDE_STATUSES and self._has_statuses():
            return False
        return urgent or self._has_token()

    def _has_statuses(self) -> bool:
        return any(self._in_flight[lane] or self._waiting[lane].tenants for lane in (Lane.FINAL, Lane.STATUS))

    def _is_calm(self) -> bool:
        return self._closed or (not self._waiting[Lane.WORK].tenants and self._foreground < CALM)

    def _has_token(self) -> bool:
        if self._bucket is None:
            return True
        loop = asyncio.get_running_loop()
        wait = self._bucket.wait(loop.time())
        if wait and self._timer is None:
            self._timer = loop.call_later(wait, self._ring)
        return not wait

    def _ring(self) -> None:
        self._timer = None
        self._admit()


class _RoundRobin:
    """What waits in one lane: of each tenant, and of each of its flows, one after the other."""

    def __init__(self) -> None:
        self.tenants: OrderedDict[str, OrderedDict[str, deque[asyncio.Future[None]]]] = OrderedDict()

    def add(self, tenant: str, flow: str, place: asyncio.Future[None]) -> None:
        if (flows := self.tenants.get(tenant)) is None:
            flows = self.tenants[tenant] = OrderedDict()
        if (queue := flows.get(flow)) is None:
            queue = flows[flow] = deque()
        queue.append(place)

    def take(self) -> asyncio.Future[None]:
        """The next one; its tenant, and its flow, go back to the end of the round."""
        tenant, flows = self.tenants.popitem(last=False)
        flow, queue = flows.popitem(last=False)
        place = queue.popleft()
        if queue:
            flows[flow] = queue
        if flows:
            self.tenants[tenant] = flows
        return place
