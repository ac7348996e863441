"""Events on jobs, with dedup and a rate limit: similar ones are combined, identical ones counted up, floods cut off.

The correlation follows client-go's three stages, with one difference: the flood gate is kept per object *and reason*,
so that a thousand creations never swallow the one event that says why the job failed (K-39).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Final, TypeVar
from zlib import crc32

import msgspec
import structlog

from training_api.constants import API_VERSION
from training_api.kinds import KindInfo
from training_api.printable import legible
from training_controllers.model.plan import EventType, JobEvent
from training_controllers.model.records import JobRecord
from training_controllers.ports import ApiError, NotFound
from training_operator.kube.client import KubeClient
from training_operator.kube.flow import Lane, TokenBucket
from training_operator.kube.resources import EVENTS

SIMILAR: Final = 10
"""So many events that differ in their message only are sent one by one; further ones are combined."""
SIMILAR_SECONDS: Final = 600.0
CROWDED: Final = 30
"""A job with so many events gets no more than one and a combined one for each further reason."""
BURST: Final = 25
REFILL_RATE: Final = 1 / 300.0
"""Events per second after a burst, for each object and reason."""
REMEMBERED: Final = 4096
"""Objects and messages whose past is kept."""
WAITING: Final = 10_000
"""Events that wait to be sent, some 10 MB of them at most; further ones are dropped."""
SENDERS: Final = 8
"""Events on the way at the same time while nothing else is, those of one job in order."""

K = TypeVar("K")
T = TypeVar("T")


class Outgoing(msgspec.Struct, gc=False, frozen=True):
    """What is to be sent: a new event, or a higher count of one that exists.

    Thousands may wait, so this holds no more of the job than its reference, and the body is made when it is sent.
    """

    info: KindInfo
    namespace: str
    job: str
    uid: str
    version: str
    type: EventType
    reason: str
    name: str
    message: str
    count: int
    first: datetime
    last: datetime

    def body(self) -> dict[str, Any]:
        """The event as JSON."""
        return {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": self.name, "namespace": self.namespace},
            "involvedObject": {
                "apiVersion": API_VERSION,
                "kind": self.info.kind,
                "namespace": self.namespace,
                "name": self.job,
                "uid": self.uid,
                "resourceVersion": self.version,
            },
            "type": self.type,
            "reason": self.reason,
            "message": self.message,
            "source": {"component": self.info.controller_name},
            "reportingComponent": self.info.controller_name,
            "reportingInstance": "",
            "count": self.count,
            "firstTimestamp": _wire_time(self.first),
            "lastTimestamp": _wire_time(self.last),
        }


class _Similar(msgspec.Struct, gc=False):
    """The events of one object, type and reason."""

    bucket: TokenBucket
    since: float
    messages: list[str] = []
    """Different ones; a list, because most objects have one for each reason, for which a set is large."""


class _Known(msgspec.Struct, gc=False):
    """An event that has been sent."""

    name: str
    first: datetime
    count: int = 0


class Correlator:
    """Decides for each event whether it is sent, combined with others, counted up, or dropped; pure but for memory."""

    def __init__(self) -> None:
        self._similar: dict[tuple[str, ...], _Similar] = {}
        self._known: dict[tuple[str, ...], _Known] = {}
        self._sent: dict[str, int] = {}
        """Events that each job has, by its uid."""
        self._made = 0

    def correlate(
        self, info: KindInfo, job: JobRecord, event: JobEvent, seconds: float, now: datetime
    ) -> Outgoing | None:
        """Return what to send for `event`, None for nothing; `seconds` is a clock that never goes back."""
        kind = (job.uid, event.type, event.reason)
        similar = self._similar_to(kind, seconds)
        sent = self._sent.get(job.uid, 0)
        singly = SIMILAR if sent < CROWDED else 1
        if len(similar.messages) <= singly and event.message not in similar.messages:
            similar.messages.append(event.message)
        combined = len(similar.messages) > singly
        message = legible(f"(combined from similar events): {event.message}") if combined else event.message
        known = self._count((*kind, "" if combined else event.message), job.name, now)
        if similar.bucket.wait(seconds):
            return None
        similar.bucket.take()
        if known.count == 1:
            _remember(self._sent, job.uid, sent + 1)
        of = (info, job.namespace, job.name, job.uid, job.version, event.type, event.reason)
        return Outgoing(*of, known.name, message, known.count, known.first, now)

    def _similar_to(self, kind: tuple[str, ...], seconds: float) -> _Similar:
        similar = self._similar.get(kind)
        if similar is None or seconds - similar.since >= SIMILAR_SECONDS:
            similar = _Similar(similar.bucket if similar else TokenBucket(REFILL_RATE, BURST), seconds)
        _remember(self._similar, kind, similar)
        return similar

    def _count(self, identity: tuple[str, ...], job_name: str, now: datetime) -> _Known:
        known = self._known.get(identity)
        if known is None:
            self._made += 1  # two events of one instant must not share a name
            known = _Known(f"{job_name}.{int(now.timestamp() * 1e9) + self._made:x}", now)
        known.count += 1
        _remember(self._known, identity, known)
        return known


def _remember(memory: dict[K, T], key: K, value: T) -> None:
    """Keep `value`, and forget what was remembered first; an `OrderedDict` takes 60 bytes more for each key."""
    memory.pop(key, None)
    memory[key] = value
    if len(memory) > REMEMBERED:
        del memory[next(iter(memory))]


class EventRecorder:
    """Sends the events of all controllers in the background, those of a job in order; never delays who records them."""

    def __init__(self, client: KubeClient, now: Callable[[], datetime], clock: Callable[[], float]) -> None:
        self._client, self._now, self._clock = client, now, clock
        self._correlator = Correlator()
        self._queues = [asyncio.Queue[Outgoing]() for _ in range(SENDERS)]
        self._waiting = 0
        self._log = structlog.get_logger()

    def of(self, info: KindInfo) -> JobEvents:
        """Return the port `Events` for the controller of one kind."""
        return JobEvents(self, info)

    def record(self, info: KindInfo, job: JobRecord, event: JobEvent) -> None:
        """Take over an event on `job`; it is dropped if too many wait already."""
        outgoing = self._correlator.correlate(info, job, event, self._clock(), self._now())
        if outgoing is None:
            return
        if self._waiting >= WAITING:
            self._log.warning("event dropped: the queue is full", reason=event.reason, name=job.name)
            return
        self._waiting += 1
        self._queues[crc32(job.uid.encode()) % SENDERS].put_nowait(outgoing)

    async def run(self) -> None:
        """Send what is recorded, indefinitely."""
        async with asyncio.TaskGroup() as group:
            for queue in self._queues:
                group.create_task(self._send_all_of(queue))

    async def _send_all_of(self, queue: asyncio.Queue[Outgoing]) -> None:
        while True:
            outgoing = await queue.get()
            try:
                await self._send(outgoing)
            except (ApiError, OSError) as error:
                self._log.warning("event not sent", error=str(error) or repr(error), reason=outgoing.reason)
            finally:
                self._waiting -= 1
                queue.task_done()

    async def flush(self) -> None:
        """Wait until everything recorded so far has been sent."""
        await asyncio.gather(*(queue.join() for queue in self._queues))

    async def _send(self, outgoing: Outgoing) -> None:
        body = outgoing.body()
        if outgoing.count > 1:
            patch = {name: body[name] for name in ("count", "lastTimestamp", "message")}
            try:
                await self._client.patch(EVENTS, outgoing.namespace, outgoing.name, patch, lane=Lane.BACKGROUND)
            except NotFound:  # its TTL is over, or it was never sent
                pass
            else:
                return
        await self._client.create(EVENTS, outgoing.namespace, body, lane=Lane.BACKGROUND)


class JobEvents:
    """The events of one controller (the port `Events` of the engine)."""

    def __init__(self, recorder: EventRecorder, info: KindInfo) -> None:
        self._recorder, self._info = recorder, info

    def record(self, job: JobRecord, event: JobEvent) -> None:
        """Attach `event` to `job`."""
        self._recorder.record(self._info, job, event)


def _wire_time(time: datetime) -> str:
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
