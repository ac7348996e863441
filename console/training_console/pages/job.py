"""One job: what it is, how its replicas are, what came first, what happened when."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from training_api.kinds import KindInfo
from training_console.model import pods as pod_rows
from training_console.model.curves import curves
from training_console.model.jobs import JobRow, resources
from training_console.model.pods import PodRow, first_cause
from training_console.model.queues import WorkloadRow, workloads
from training_console.model.timeline import timeline
from training_console.pages.html import Macros
from training_console.pages.page import Fragments
from training_console.reading.cluster import Reader
from training_console.reading.feeds import Feed, NoAnswer, NotAllowed
from training_controllers.frameworks.plugins import kinds
from training_local.run.cause import Failure, standstill
from training_local.run.pod_logs import LAST_LINES, LogChoice, LogRefused, read_log
from training_local.run.pod_metrics import Usage, usage_of
from training_local.run.progress import JobProgress, JobRef, progress_of
from training_operator.kube.resources import Resource

MOST_EVENTS: Final = 200
EVERY_SECONDS: Final = 5.0
"""Usage and ages are looked at again."""
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
        raise NotFound(f"There is no kind of jobs with the plural {plural}.")
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
    await stored_job(reader, job)
    changed = asyncio.Event()
    async with AsyncExitStack() as stack:
        opened = reader.feeds.open
        pods = await stack.enter_async_context(opened(pod_rows.pods(), job.namespace, job.pod_selector, required=False))
        jobs = await stack.enter_async_context(opened(job.resource, job.namespace))
        queues = await stack.enter_async_context(opened(workloads(), job.namespace, required=False))
        for feed in (pods, jobs, queues):
            stack.enter_context(feed.listened(changed))
        yield JobPage(reader, job, (pods, queues), changed, macros)


class JobPage:
    """Everything about one job on one page."""

    template = "job.html"
    every = EVERY_SECONDS

    def __init__(
        self,
        reader: Reader,
        job: JobName,
        feeds: tuple[Feed[PodRow], Feed[WorkloadRow]],
        changed: asyncio.Event,
        macros: Macros,
    ) -> None:
        self.job, self.changed = job, changed
        self._reader, self._macros = reader, macros
        self._pods, self._queues = feeds
        self._cells: Mapping[str, str] = {}
        self._last_lines: dict[tuple[str, str, int], list[str]] = {}

    async def fragments(self) -> Fragments:
        """Return header, cause, timeline, replicas, conditions and events."""
        stored = await stored_job(self._reader, self.job)
        events, usage = await asyncio.gather(self._events(stored), self._usage())
        pods, now = self.pods, datetime.now(UTC)
        row = self.job.resource.decode(msgspec.json.encode(stored))
        progress = self._progress(stored, pods)
        uid = stored["metadata"]["uid"]
        workload = next((each for each in self._queues.store if each.owner and each.owner.uid == uid), None)
        first, others = first_cause(pods)
        last_lines = await self._last(first) if first and row.state != "Succeeded" else []
        because = self._standstill(progress, row, now)
        self._cells = {pod.id: self._macros("cell", self.job, pod) for pod in pods}
        say = self._macros
        return {
            "head": say("head", self.job, row, progress, workload, because),
            "cause": say("cause", self.job, first if row.state != "Succeeded" else None, others, last_lines),
            "timeline": say("timeline", timeline(stored, pods, events, now)),
            "replicas-head": say("replicas_head", pods, row, self._pods.complaint),
            **self._cells,
            "replica-table": say("replica_table", self.job, pods, usage),
            "conditions": say("conditions", (stored.get("status") or {}).get("conditions") or []),
            "events": say("events", events),
        }

    @property
    def pods(self) -> list[PodRow]:
        """Its pods by type and index."""
        return pod_rows.in_order(self.job.info.replica_types if self.job.info else (), self._pods.store)

    def context(self) -> Mapping[str, Any]:
        """Return the cells of the grid."""
        return {"job": self.job, "cells": list(self._cells.values()), "tab": "overview"}

    def _progress(self, stored: Mapping[str, Any], pods: Sequence[PodRow]) -> JobProgress | None:
        return progress_of(self.job.info, stored, [pod.replica for pod in pods]) if self.job.info else None

    def _standstill(self, progress: JobProgress | None, row: JobRow, now: datetime) -> str:
        if progress is None or self.job.ref is None or row.created is None:
            return ""
        return standstill(self.job.ref, progress, row.created, now)

    async def _events(self, stored: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Those of the job and of its pods, the latest first; none where they may not be read."""
        pods = {pod.uid for pod in self._pods.store}
        of_job = {"fieldSelector": f"involvedObject.uid={stored['metadata']['uid']}", "limit": "500"}
        of_pods = {"fieldSelector": "involvedObject.kind=Pod", "limit": "2000"}
        path = f"/api/v1/namespaces/{self.job.namespace}/events"
        found: list[dict[str, Any]] = []
        with suppress(NotAllowed, NoAnswer):
            lists = await asyncio.gather(self._reader.get(path, of_job), self._reader.get(path, of_pods))
            own, others = (each["items"] if each else [] for each in lists)
            found = [*own, *(each for each in others if each["involvedObject"].get("uid") in pods)]
        found.sort(key=_last_seen, reverse=True)
        return found[:MOST_EVENTS]

    async def _usage(self) -> Mapping[str, Usage]:
        """What pods use by name; nothing where there are no metrics, or they may not be read."""
        path = f"/apis/metrics.k8s.io/v1beta1/namespaces/{self.job.namespace}/pods"
        with suppress(NotAllowed, NoAnswer):
            found = await self._reader.get(path, {"labelSelector": self.job.pod_selector})
            return usage_of(found) if found else {}
        return {}

    async def _last(self, failure: Failure) -> list[str]:
        """The last lines of a failed attempt, read once."""
        if not failure.container:
            return []
        if failure.key not in self._last_lines:
            now = next((pod.replica for pod in self._pods.store if pod.uid == failure.pod_uid), failure.replica)
            previous = now.attempts.get(failure.container, 0) > failure.attempt
            choice = LogChoice(failure.container, LAST_LINES, previous=previous)
            lines: list[str] = []
            with suppress(LogRefused, OSError):
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
                found = curves([line.text async for line in log])
            except (LogRefused, OSError) as error:
                problem = str(error)
        name = pod.replica.short_name if pod else ""
        return {"curves": self._macros("curves", name, found, problem)}

    def context(self) -> Mapping[str, Any]:
        """Return the replicas to choose from."""
        return {"job": self.job, "names": self._names, "chosen": self._chosen, "tab": "curves"}


def _last_seen(event: Mapping[str, Any]) -> str:
    return str(event.get("lastTimestamp") or event.get("eventTime") or event.get("firstTimestamp") or "")
