"""The logs of several pods at once: each line once, in order, across restarts of their containers."""

from __future__ import annotations

import asyncio
import heapq
from collections import deque
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

from training_local.run.progress import Replica, replica_of
from training_local.run.watching import message_of
from training_operator.kube.transport import Request, Response, Stream, Transport

LAST_LINES: Final = 15
"""How many lines of each attempt are remembered, to be shown if it turns out to be the cause of a failure."""

_QUEUED_LINES: Final = 10_000
"""Lines that may wait to be shown; then reading waits too. Nothing is lost: the node keeps logs on disk."""
_ATTEMPTS_REMEMBERED: Final = 1_000
_SILENCE_SECONDS: Final = 86_400.0


@dataclass(frozen=True, slots=True)
class LogLine:
    """One line that a container printed."""

    replica: Replica
    stamp: str
    """When it was printed, RFC 3339 with nanoseconds."""
    text: str
    """As printed, without the newline; undecodable bytes replaced."""


@dataclass(slots=True)
class _Position:
    """How far a container's log has been read: the newest stamp, and how many lines with it."""

    stamp: str = ""
    count: int = 0

    def is_new(self, stamp: str, repeated: int) -> bool:
        """Whether the line that is the `repeated`-th with this stamp in its answer has not been read."""
        return (stamp, repeated) > (self.stamp, self.count)

    def move(self, stamp: str, repeated: int) -> None:
        """Note that this line has been read."""
        self.stamp, self.count = stamp, repeated


@dataclass(frozen=True, slots=True)
class LogChoice:
    """Which container, and how much of what it has printed."""

    container: str = ""
    """Empty for the only one."""
    tail: int | None = None
    """Lines of each pod to begin with; None for all."""
    previous: bool = False
    """The attempt before the current one."""
    all_attempts: bool = False
    """When followed, begin with the earlier attempt that there still is."""

    def query(self, *, follow: bool, previous: bool | None = None) -> dict[str, str]:
        """Return it as parameters of a request (PodLogOptions)."""
        before = self.previous if previous is None else previous
        wanted = {"timestamps": "true", "container": self.container}
        wanted |= {"follow": "true"} if follow else {}
        wanted |= {"previous": "true"} if before else {}
        return {name: value for name, value in wanted.items() if value}


@dataclass(slots=True)
class _Source:
    """One pod whose log is followed."""

    position: _Position = field(default_factory=_Position)
    attempt: int = -1
    task: asyncio.Task[None] | None = None
    lines: int = 0
    """How many have been read."""
    ended: bool = False
    """Whether its container has ended."""


class LogFollower:
    """Follows the logs of the pods given to `take`, and of their containers' later attempts."""

    def __init__(self, transport: Transport, namespace: str, choice: LogChoice) -> None:
        self._transport, self._choice = transport, choice
        self._pods_path = f"/api/v1/namespaces/{namespace}/pods"
        self._sources: dict[str, _Source] = {}
        self._queue: asyncio.Queue[LogLine] = asyncio.Queue(_QUEUED_LINES)
        self._last: dict[tuple[str, int], deque[str]] = {}

    def take(self, pod: Mapping[str, Any]) -> None:
        """Follow what the pod's container prints from now on, if it has been started (again) since the last call."""
        uid = pod["metadata"]["uid"]
        attempt = started_attempt(pod, self._choice.container)
        source = self._sources.setdefault(uid, _Source())
        if attempt is not None and attempt > source.attempt:
            first, source.attempt = source.attempt < 0, attempt
            work = self._follow(source, source.task, replica_of(pod), uid, attempt, first=first)
            source.task = asyncio.create_task(work)
        source.ended = not {"running", "waiting"} & _state(pod, self._choice.container).keys()

    async def lines(self) -> AsyncIterator[LogLine]:
        """Yield the lines of all pods as they come; never ends by itself."""
        while True:
            yield await self._queue.get()

    def pending(self) -> list[LogLine]:
        """Return the lines that have arrived and have not been returned yet."""
        lines = []
        with suppress(asyncio.QueueEmpty):
            while True:
                lines.append(self._queue.get_nowait())
        return lines

    def last_lines(self, uid: str, attempt: int) -> list[str]:
        """Return the last lines of an attempt, as far as they were followed."""
        return list(self._last.get((uid, attempt), ()))

    async def drain(self, patience: float = 2.0) -> None:
        """Wait until the logs of ended containers have arrived whole, then stop following.

        What still runs may say its last words for `patience` seconds; an ended one may not be silent for so long.
        """
        await self._wait([source for source in self._sources.values() if source.task], patience)
        while left := [s for s in self._sources.values() if s.task and s.ended and not s.task.done()]:
            before = sum(source.lines for source in left)
            await self._wait(left, patience)
            if before == sum(source.lines for source in left):
                break
        await self.close()

    async def _wait(self, sources: Sequence[_Source], patience: float) -> None:
        if tasks := [source.task for source in sources if source.task]:
            await asyncio.wait(tasks, timeout=patience)

    async def close(self) -> None:
        """Stop following."""
        tasks = [source.task for source in self._sources.values() if source.task]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _follow(
        self,
        source: _Source,
        before: asyncio.Task[None] | None,
        replica: Replica,
        uid: str,
        attempt: int,
        *,
        first: bool,
    ) -> None:
        if before is not None:
            await asyncio.wait([before])
        path = f"{self._pods_path}/{replica.pod}/log"
        queries = [self._choice.query(follow=True, previous=False)]
        if first and self._choice.tail is not None:
            queries[0]["tailLines"] = str(self._choice.tail)
        if not first or (attempt and self._choice.all_attempts):
            # What was printed between the end of the last answer and the end of the attempt.
            queries.insert(0, self._choice.query(follow=False, previous=True))
        for query in queries:
            with suppress(OSError):
                async with self._transport.stream(Request("GET", path, query, timeout=_SILENCE_SECONDS)) as stream:
                    number = attempt - 1 if "previous" in query else attempt
                    await self._read(stream, source, replica, (uid, number))

    async def _read(self, stream: Stream, source: _Source, replica: Replica, key: tuple[str, int]) -> None:
        if stream.status != 200:
            return
        last = self._last.setdefault(key, deque(maxlen=LAST_LINES))
        if len(self._last) > _ATTEMPTS_REMEMBERED:
            del self._last[next(iter(self._last))]
        fresh = False  # only what an answer begins with can be known already, even if a clock is set back
        async for line, repeated in numbered(stream, replica):
            fresh = fresh or source.position.is_new(line.stamp, repeated)
            if fresh:
                source.position.move(line.stamp, repeated)
                source.lines += 1
                last.append(line.text)
                await self._queue.put(line)


async def numbered(stream: Stream, replica: Replica) -> AsyncIterator[tuple[LogLine, int]]:
    """Yield the lines of a log with timestamps, and how many so far had the same one."""
    before, repeated = "", 0
    async for line in stream.lines:
        stamp, _, text = line.decode(errors="replace").rstrip("\n").partition(" ")
        before, repeated = stamp, repeated + 1 if stamp == before else 1
        yield LogLine(replica, stamp, text), repeated


async def read_log(transport: Transport, namespace: str, replica: Replica, choice: LogChoice) -> AsyncIterator[LogLine]:
    """Yield what a pod has printed so far; raises `LogUnavailable` if it has no such log."""
    query = choice.query(follow=False)
    if choice.tail is not None:
        query["tailLines"] = str(choice.tail)
    path = f"/api/v1/namespaces/{namespace}/pods/{replica.pod}/log"
    async with transport.stream(Request("GET", path, query, timeout=_SILENCE_SECONDS)) as stream:
        if stream.status != 200:
            raise LogUnavailable(message_of(Response(stream.status, stream.body)))
        async for line, _ in numbered(stream, replica):
            yield line


async def merged(logs: Sequence[AsyncIterator[LogLine]]) -> AsyncIterator[LogLine]:
    """Yield the lines of several logs in the order of time; of each log one line is held."""

    async def after(number: int) -> list[tuple[str, int, LogLine]]:
        line = await anext(logs[number], None)
        return [(line.stamp, number, line)] if line is not None else []

    heap = [head for heads in await asyncio.gather(*map(after, range(len(logs)))) for head in heads]
    heapq.heapify(heap)
    while heap:
        _, number, line = heap[0]
        yield line
        if following := await after(number):
            heapq.heapreplace(heap, following[0])
        else:
            heapq.heappop(heap)


class LogUnavailable(Exception):
    """A pod has no such log; the message is the server's sentence."""


def started_attempt(pod: Mapping[str, Any], container: str) -> int | None:
    """Return how often the container (the first if empty) was restarted before it started last; None before that."""
    begun = {"running", "terminated"} & _state(pod, container).keys()
    return int(_status(pod, container).get("restartCount", 0)) if begun else None


def _state(pod: Mapping[str, Any], container: str) -> Mapping[str, Any]:
    return _status(pod, container).get("state") or {}


def _status(pod: Mapping[str, Any], container: str) -> Mapping[str, Any]:
    status = pod.get("status") or {}
    known = [*(status.get("containerStatuses") or ()), *(status.get("initContainerStatuses") or ())]
    return next((each for each in known if container in ("", each["name"])), {})
