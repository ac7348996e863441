"""One job: what it is, how its replicas are, what came first, what happened when."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from typing import Any, Final

import msgspec

from training_api.kinds import KindInfo
from training_console.model import pods as pod_rows
from training_console.model.curves import curves
from training_console.model.events import EventRow, concerning, events
from training_console.model.jobs import JobRow, resources
from training_console.model.pods import PodRow, first_cause
from training_console.model.queues import Position, WorkloadRow, workloads
from training_console.model.timeline import timeline
from training_console.model.training import Training
from training_console.pages.html import Macros
from training_console.pages.page import Fragments
from training_console.reading.cluster import Reader
from training_console.reading.feeds import Feed, NoAnswer, NotAllowed
from training_console.reading.training import TrainingLogs
from training_controllers.frameworks.plugins import kinds
from training_local.run.cause import Failure, standstill
from training_local.run.pod_logs import LAST_LINES, LogChoice, LogUnavailable, read_log
from training_local.run.pod_metrics import Usage, usage_of
from training_local.run.progress import JobProgress, JobRef, progress_of
from training_operator.kube.resources import Resource

EVERY_SECONDS: Final = 5.0
"""After which usage and logs are looked at again."""
EVENTS_SECONDS: Final = 0.5
"""For which a page waits for the events of its namespace, which can be many; they come later then."""
USAGE_SECONDS: Final = 10.0
"""Metrics are good for so long."""
CURVE_LINES: Final = 5_000
"""Of a log in which curves are looked for."""


class NotFound(Exception):
    """There is no such job; the message is one sentence."""


@dataclass(frozen=True, slots=True)
class JobName:
    """Which job an address means."""

    namespace: str
    resource: Resource[JobRow]
    name: str

    @property
    def info(self) -> KindInfo | None:
        """The declaration of its kind; None for a TrainJob."""
        return kinds().get(self.resource.kind)

    @property
    def path(self) -> str:
        """Of the stored object."""
        return self.resource.path(self.namespace, self.name)

    @property
    def page(self) -> str:
        """Path of its page."""
        return f"/jobs/{self.namespace}/{self.resource.plural}/{self.name}"

    @property
    def ref(self) -> JobRef | None:
        """The job as others follow it; None for a TrainJob."""
        return JobRef(self.info, self.namespace, self.name) if self.info else None

    @property
    def pod_selector(self) -> str:
        """Label selector of its pods."""
        return self.ref.pod_selector if self.ref else f"jobset.sigs.k8s.io/jobset-name={self.name}"


def job_name(namespace: str, plural: str, name: str) -> JobName:
    """Return the job of an address; raises `NotFound` where there is no such kind."""
    resource = next((each for each in resources() if each.plural == plural), None)
    if resource is None:
        raise NotFound(f"There is no kind of job with the plural name {plural}.")
    return JobName(namespace, resource, name)


async def stored_job(reader: Reader, job: JobName) -> dict[str, Any]:
    """Return the job as it is stored; raises `NotFound`, `NotAllowed` and `NoAnswer`."""
    stored = await reader.get(job.path)
    if stored is None:
        raise NotFound(f"There is no {job.resource.kind} {job.namespace}/{job.name}; it may have been deleted.")
    return stored


@asynccontextmanager
async def job_page(reader: Reader, job: JobName, macros: Macros) -> AsyncIterator[JobPage]:
    """Hand out the page of a job; raises `NotFound`, `NotAllowed` and `NoAnswer`."""
    stored = await stored_job(reader, job)
    changed = asyncio.Event()
    async with AsyncExitStack() as stack:
        opened, ours = reader.feeds.open, f"{job.name}-"
        pods = await stack.enter_async_context(opened(pod_rows.pods(), job.namespace, job.pod_selector, required=False))
        jobs = await stack.enter_async_context(opened(job.resource, job.namespace, name=job.name))
        queues = await stack.enter_async_context(opened(workloads(), job.namespace, required=False))
        told = await stack.enter_async_context(opened(events(), job.namespace, required=False, patience=EVENTS_SECONDS))
        stack.enter_context(pods.listened(changed))
        stack.enter_context(jobs.listened(changed))
        stack.enter_context(queues.listened(changed, lambda row: row.owner is not None and row.owner.name == job.name))
        stack.enter_context(
            told.listened(changed, lambda row: row.object_name == job.name or row.object_name.startswith(ours))
        )
        yield JobPage(reader, job, stored, JobFeeds(pods, jobs, queues, told, changed), macros)


@dataclass(frozen=True, slots=True)
class JobFeeds:
    """What a page watches, together with all other pages of its viewer."""

    pods: Feed[PodRow]
    jobs: Feed[JobRow]
    queues: Feed[WorkloadRow]
    events: Feed[EventRow]
    changed: asyncio.Event
    """Set when one of them tells something of the job."""


class JobPage:
    """Everything about one job on one page."""

    template = "job.html"
    every = EVERY_SECONDS

    def __init__(
        self,
        reader: Reader,
        job: JobName,
        stored: dict[str, Any],
        feeds: JobFeeds,
        macros: Macros,
    ) -> None:
        self.job, self.changed = job, feeds.changed
        self._reader, self._feeds, self._macros = reader, feeds, macros
        self._logs = TrainingLogs(reader.transport, job.info.container if job.info else "")
        self._cells: Mapping[str, str] = {}
        self._last_lines: dict[tuple[str, str, int], list[str]] = {}
        self._stored = stored
        self._used: Mapping[str, Usage] = {}
        self._used_until = 0.0

    async def fragments(self) -> Fragments:
        """Return header, cause, replicas, timeline, conditions and events."""
        stored = await self._current()
        pods, now = self.pods, datetime.now(UTC)
        row = self.job.resource.decode(msgspec.json.encode(stored))
        usage, training, queued = await asyncio.gather(self._usage(), self._training(row, pods), self._queue(row))
        progress = self._progress(stored, pods)
        told = concerning(self._feeds.events.store, {row.uid, *(pod.uid for pod in pods)})
        first, others = first_cause(pods)
        last_lines = await self._last(first) if first and row.state != "Succeeded" else []
        because = self._standstill(progress, row, now)
        say = self._macros
        self._cells = self._grid(pods)
        return {
            "head": say("head", self.job, row, progress, training, queued, because),
            "cause": say("cause", self.job, first if row.state != "Succeeded" else None, others, last_lines),
            "replicas-head": say("replicas_head", pods, row, self._feeds.pods.complaint),
            **self._cells,
            "timeline": say("timeline", timeline(stored, pods, told, queued[0], now)),
            "replica-table": say("replica_table", self.job, pods, usage),
            "conditions": say("conditions", (stored.get("status") or {}).get("conditions") or []),
            "events": say("events", told, self._feeds.events.complaint),
        }

    async def _current(self) -> dict[str, Any]:
        """The job as it is stored, read again when the watch has told of another version."""
        row = self._feeds.jobs.store.get(self.job.namespace, self.job.name)
        if row is None or row.version != self._stored["metadata"].get("resourceVersion", ""):
            self._stored = await stored_job(self._reader, self.job)
        return self._stored

    def _grid(self, pods: Sequence[PodRow]) -> dict[str, str]:
        """A cell for each pod, and before those of each type its name."""
        cells: dict[str, str] = {}
        for replica_type, group in groupby(pods, key=lambda pod: pod.replica.replica_type):
            members = list(group)
            cells[f"pod-of-{replica_type}"] = self._macros("replica_type", replica_type, members)
            cells |= {pod.id: self._macros("cell", self.job, pod) for pod in members}
        return cells

    async def _training(self, row: JobRow, pods: Sequence[PodRow]) -> Training | None:
        found = row.training or await self._logs.of(pods)
        if found is not None and row.training is None:
            self._reader.training.keep(row.uid, found)
        return found

    async def _queue(self, row: JobRow) -> tuple[WorkloadRow | None, Position | None]:
        workload = next((each for each in self._feeds.queues.store if each.owner and each.owner.uid == row.uid), None)
        if workload is None or not workload.waits:
            return workload, None
        return workload, (await self._reader.positions.of(self._feeds.queues.store)).get(workload.uid)

    @property
    def pods(self) -> list[PodRow]:
        """Its pods by type and index."""
        return pod_rows.in_order(self.job.info.replica_types if self.job.info else (), self._feeds.pods.store)

    def context(self) -> Mapping[str, Any]:
        """Return the cells of the grid."""
        return {"job": self.job, "cells": list(self._cells.values()), "tab": "overview"}

    def _progress(self, stored: Mapping[str, Any], pods: Sequence[PodRow]) -> JobProgress | None:
        return progress_of(self.job.info, stored, [pod.replica for pod in pods]) if self.job.info else None

    def _standstill(self, progress: JobProgress | None, row: JobRow, now: datetime) -> str:
        if progress is None or self.job.ref is None or row.created is None:
            return ""
        return standstill(self.job.ref, progress, row.created, now)

    async def _usage(self) -> Mapping[str, Usage]:
        """What pods use by name; nothing where there are no metrics, or they may not be read."""
        now = asyncio.get_running_loop().time()
        if now < self._used_until:
            return self._used
        self._used, self._used_until = {}, now + USAGE_SECONDS
        path = f"/apis/metrics.k8s.io/v1beta1/namespaces/{self.job.namespace}/pods"
        with suppress(NotAllowed, NoAnswer):
            found = await self._reader.get(path, {"labelSelector": self.job.pod_selector})
            self._used = usage_of(found) if found else {}
        return self._used

    async def _last(self, failure: Failure) -> list[str]:
        """The last lines of a failed attempt, read once."""
        if not failure.container:
            return []
        if failure.key not in self._last_lines:
            now = next((pod.replica for pod in self._feeds.pods.store if pod.uid == failure.pod_uid), failure.replica)
            previous = now.attempts.get(failure.container, 0) > failure.attempt
            choice = LogChoice(failure.container, LAST_LINES, previous=previous)
            lines: list[str] = []
            with suppress(LogUnavailable, OSError):
                log = read_log(self._reader.transport, self.job.namespace, now, choice)
                lines = [line.text async for line in log]
            self._last_lines[failure.key] = lines
        return self._last_lines[failure.key]


class CurvesPage:
    """What one replica prints, as curves."""

    template = "curves.html"
    every = EVERY_SECONDS

    def __init__(self, reader: Reader, job: JobName, pods: Feed[PodRow], chosen: str, macros: Macros) -> None:
        self.job, self.changed = job, asyncio.Event()
        self._reader, self._pods, self._chosen, self._macros = reader, pods, chosen, macros
        self._names: list[str] = []

    async def fragments(self) -> Fragments:
        """Return the curves of the log's last lines."""
        types = self.job.info.replica_types if self.job.info else ()
        pods = pod_rows.in_order(types, self._pods.store)
        self._names = [pod.replica.short_name for pod in pods]
        pod = next((pod for pod in pods if pod.replica.short_name == self._chosen), pods[0] if pods else None)
        found, problem = [], ""
        if pod is not None:
            container = self.job.info.container if self.job.info else ""
            log = read_log(self._reader.transport, pod.namespace, pod.replica, LogChoice(container, CURVE_LINES))
            try:
                found = await asyncio.to_thread(curves, [line.text async for line in log])
            except (LogUnavailable, OSError) as error:
                problem = str(error)
        name = pod.replica.short_name if pod else ""
        return {"curves": self._macros("curves", name, found, problem)}

    def context(self) -> Mapping[str, Any]:
        """Return the replicas to choose from."""
        return {"job": self.job, "names": self._names, "chosen": self._chosen, "tab": "curves"}
