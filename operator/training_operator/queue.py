"""Keys to work on, each by one worker at a time, and how long a key that fails has to wait."""

from __future__ import annotations

import asyncio
import heapq
import sys
from collections import deque
from collections.abc import Callable, Hashable
from itertools import count
from typing import Final, Generic, Protocol, TypeVar

K = TypeVar("K", bound=Hashable)

NORMAL: Final = 0
FOLLOW_UP: Final = -10
"""Priority of what can wait: pods that have begun to run."""
MINOR: Final = -12
"""Priority of what changes no condition: cleaning up after a job's end, the rest of a large plan."""
PROGRESS: Final = -50
"""Priority of pods of which more will be told soon: new ones that do not run yet, and those that run after the first
of their job. Where many jobs wait, most get Created and Running with one write."""
LOW: Final = -60
"""Priority of objects from an initial list, so that new work passes those of a restart."""


class QueueMetrics(Protocol):
    """What a queue measures (the `workqueue_*` metrics of Kubernetes)."""

    def added(self) -> None:
        """Note a key that became ready."""
        ...

    def started(self, waited: float) -> None:
        """Note a key handed out after `waited` seconds."""
        ...

    def finished(self, worked: float) -> None:
        """Note a key whose worker took `worked` seconds."""
        ...


_Entry = tuple[float, int, K]
"""When a key is due, the order of such keys, and the key."""


class _Heap(Generic[K]):
    """Ready keys of similar priority."""

    def __init__(self, most: int) -> None:
        self.most = most
        """They wait while so many workers have a key, until they are due."""
        self.entries: list[_Entry[K]] = []


class WorkQueue(Generic[K]):
    """Hands out each key at most once at a time; adds during processing are remembered, not lost.

    A priority is a head start in seconds: a key is passed by those of higher priority that come so many seconds after
    it at most, so that no stream of urgent keys keeps the others waiting indefinitely. For so long, keys below
    `FOLLOW_UP` are only handed out while fewer than a third of the workers have a key, and those of `PROGRESS` while
    fewer than a twelfth have: the others are there for what conditions of jobs depend on. Later, up to a sixth of the
    workers have such keys, however busy the others are.
    """

    def __init__(
        self,
        clock: Callable[[], float] | None = None,
        metrics: QueueMetrics | None = None,
        workers: int = sys.maxsize,
    ) -> None:
        self._urgent, self._later, self._progress = (_Heap[K](max(workers // part, 1)) for part in (1, 3, 12))
        """Ready keys by priority; an entry is stale once its key has been handed out."""
        self._most_overdue = max(workers // 6, 1)
        """Keys that may be out at a time only because they have waited long enough."""
        self._clock = clock or asyncio.get_running_loop().time
        self._metrics = metrics
        self._dirty: dict[K, tuple[int, float]] = {}
        self._active: dict[K, float] = {}
        self._overdue = set[K]()
        """Those of the active keys that were handed out only because they had waited long enough."""
        self._timers: dict[K, dict[int, asyncio.TimerHandle]] = {}
        """By key and priority: what can wait must not keep back what is urgent, whichever comes first."""
        self._order = count()
        self._idle = deque[asyncio.Future[None]]()
        """Workers that found no key."""
        self._due: asyncio.TimerHandle | None = None
        """Wakes one of them for a key that has waited long enough."""
        self._closed = False

    def __len__(self) -> int:
        """Return the number of keys that wait for a worker."""
        return len(self._dirty)

    def add(self, key: K, *, priority: int = NORMAL) -> None:
        """Make the key ready; more urgent adds outbid earlier ones."""
        known = self._dirty.get(key)
        if known is not None and known[0] >= priority:
            return
        since = known[1] if known else self._clock()
        self._dirty[key] = (priority, since)
        if known is None and self._metrics:
            self._metrics.added()
        if key not in self._active:
            self._push(key, priority, since)

    def add_after(self, key: K, seconds: float, *, priority: int = NORMAL) -> None:
        """Make the key ready later; of several times of one priority the earliest counts."""
        if seconds <= 0:
            self.add(key, priority=priority)
            return
        loop = asyncio.get_running_loop()
        if self._closed:
            return
        due = loop.time() + seconds
        timers = self._timers.setdefault(key, {})
        if any(timer.when() <= due for known, timer in timers.items() if known >= priority):
            return
        if (timer := timers.get(priority)) is not None:
            timer.cancel()
        timers[priority] = loop.call_at(due, self._ring, key, priority)

    def lower(self, key: K, priority: int) -> None:
        """Give a key that is out this priority: what it is to be handed out for again can wait."""
        if (dirty := self._dirty.get(key)) is not None:
            self._dirty[key] = (priority, dirty[1])
        if timers := self._stop_timers(key):
            due = min(timer.when() for timer in timers)
            self._timers[key] = {priority: asyncio.get_running_loop().call_at(due, self._ring, key, priority)}

    async def get(self) -> K:
        """Wait for a key that no worker has; call `done` afterwards. Nothing is handed out once closed.

        Its timers are cancelled: this reconcile sees every earlier change, and requeues the key for its next deadline.
        """
        while (key := self._take()) is None:
            self._idle.append(turn := asyncio.get_running_loop().create_future())
            await turn
        _, since = self._dirty.pop(key)
        if self._dirty:  # the next idle worker may have another key, or learn when one is due
            self._wake()
        self._stop_timers(key)  # what they are for is seen now
        now = self._clock()
        self._active[key] = now
        if self._metrics:
            self._metrics.started(now - since)
        return key

    def done(self, key: K) -> None:
        """Let the key be handed out again."""
        started = self._active.pop(key)
        self._overdue.discard(key)
        if self._metrics:
            self._metrics.finished(self._clock() - started)
        if (dirty := self._dirty.get(key)) is not None:
            self._push(key, *dirty)
        elif self._dirty:  # which an idle worker may have now
            self._wake()

    def working(self) -> list[float]:
        """For how many seconds each key has been worked on that is out now."""
        now = self._clock()
        return [now - since for since in self._active.values()]

    def is_crowded(self) -> bool:
        """Whether all workers that another key may have are busy, and one waits."""
        most = self._later.most if self._first(self._later) else self._urgent.most
        return len(self._active) >= most and any(key not in self._active for key in self._dirty)

    def close(self) -> None:
        """Hand out nothing more, and drop all timers."""
        self._closed = True
        for key in [*self._timers]:
            self._stop_timers(key)

    def _push(self, key: K, priority: int, since: float) -> None:
        heap = self._urgent if priority >= FOLLOW_UP else self._progress if priority == PROGRESS else self._later
        heapq.heappush(heap.entries, (since - priority, next(self._order), key))
        self._wake()

    def _wake(self) -> None:
        """Let one idle worker look for a key."""
        while self._idle:
            if not (turn := self._idle.popleft()).done():
                turn.set_result(None)
                return

    def _take(self) -> K | None:
        """Remove the key that is due first from those that a worker may have now."""
        if self._closed:
            return None
        firsts = [(first, heap) for heap in (self._urgent, self._later, self._progress) if (first := self._first(heap))]
        busy, now = len(self._active), self._clock()
        more = len(self._overdue) < self._most_overdue
        free = [each for each in firsts if busy < each[1].most or (more and now >= each[0][0])]
        if free:
            (_, _, key), heap = min(free)
            heapq.heappop(heap.entries)
            if busy >= heap.most:
                self._overdue.add(key)
            return key
        if firsts and (wait := min(firsts)[0][0] - now) > 0:
            self._wake_after(wait)
        return None

    def _wake_after(self, seconds: float) -> None:
        loop = asyncio.get_running_loop()
        if self._due is None or self._due.when() > loop.time() + seconds:
            self._due = loop.call_later(seconds, self._come_due)

    def _come_due(self) -> None:
        self._due = None
        self._wake()

    def _first(self, heap: _Heap[K]) -> _Entry[K] | None:
        """Return the first entry that is not stale, and drop those before it."""
        entries = heap.entries
        while entries and (entries[0][2] not in self._dirty or entries[0][2] in self._active):
            heapq.heappop(entries)
        return entries[0] if entries else None

    def _stop_timers(self, key: K) -> list[asyncio.TimerHandle]:
        stopped = [*self._timers.pop(key, {}).values()]
        for timer in stopped:
            timer.cancel()
        return stopped

    def _ring(self, key: K, priority: int) -> None:
        timers = self._timers[key]
        del timers[priority]
        if not timers:
            del self._timers[key]
        self.add(key, priority=priority)


class Backoff(Generic[K]):
    """Doubles the delay of a key with each failure, from 5 ms to 1,000 s."""

    def __init__(self, first: float = 0.005, longest: float = 1000.0) -> None:
        self._first = first
        self._longest = longest
        self._delays: dict[K, float] = {}

    def next(self, key: K) -> float:
        """Return the seconds to wait after one more failure."""
        delay = self._delays.get(key, self._first)
        self._delays[key] = min(2 * delay, self._longest)
        return delay

    def forget(self, key: K) -> None:
        """Note a success."""
        self._delays.pop(key, None)
