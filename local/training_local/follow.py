"""Following one job through the API: its conditions, its replicas, their logs."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from training_api.constants import JOB_NAME_LABEL, OPERATOR_NAME_LABEL, REPLICA_INDEX_LABEL, REPLICA_TYPE_LABEL
from training_api.kinds import KindInfo
from training_operator.kube.transport import Request, Transport

COALESCE = 0.05
"""Seconds in which several changes are shown as one."""

RANK_VARIABLES = ("PET_NODE_RANK", "RANK", "PROCESS_ID")
"""Where the frameworks tell a replica its rank among the nodes of the job, in order of preference."""

TERMINAL = ("Succeeded", "Failed")


@dataclass(frozen=True, slots=True)
class Replica:
    """One replica as its pod shows it."""

    pod: str
    replica_type: str
    index: int
    phase: str
    rank: str
    restarts: int
    ended: str
    """How its container ended last: exit code and reason; empty while it has never ended."""


@dataclass(frozen=True, slots=True)
class JobProgress:
    """What is to be shown of a job at one moment."""

    conditions: tuple[Mapping[str, Any], ...] = ()
    replicas: tuple[Replica, ...] = ()
    gone: bool = False
    """Whether the job existed and has been deleted (by its TTL, for example)."""

    @property
    def state(self) -> str:
        """Type of the newest condition, as `kubectl get` shows it; empty before the first."""
        return str(self.conditions[-1]["type"]) if self.conditions else ""

    @property
    def outcome(self) -> str:
        """`Succeeded` or `Failed` once one of them is True, else empty."""
        for condition in self.conditions:
            if condition["type"] in TERMINAL and condition["status"] == "True":
                return str(condition["type"])
        return ""


@dataclass(frozen=True, slots=True)
class JobRef:
    """The job that is followed."""

    info: KindInfo
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.info.kind} {self.namespace}/{self.name}"

    @property
    def collection(self) -> str:
        """Path of the jobs of this kind and namespace."""
        return f"/apis/kubeflow.org/v1/namespaces/{self.namespace}/{self.info.plural}"

    @property
    def pod_selector(self) -> str:
        """Label selector of the job's pods."""
        return f"{OPERATOR_NAME_LABEL}={self.info.controller_name},{JOB_NAME_LABEL}={self.name}"


class JobFollower:
    """Keeps the progress of one job up to date and hands out its changes and log lines."""

    def __init__(self, transport: Transport, job: JobRef) -> None:
        self._transport, self._job = transport, job
        self._changed = asyncio.Event()
        self._progress = JobProgress()
        self._pods: dict[str, Replica] = {}
        self._logs_of: dict[tuple[str, int], asyncio.Task[None]] = {}
        self._lines: asyncio.Queue[tuple[Replica, str]] = asyncio.Queue(maxsize=10_000)

    async def changes(self) -> AsyncIterator[JobProgress]:
        """Yield the progress after each change, until the job has ended or is gone; the last one is the end."""
        pods = f"/api/v1/namespaces/{self._job.namespace}/pods"
        async with asyncio.TaskGroup() as tasks:
            watches = [
                tasks.create_task(
                    self._watch(
                        self._job.collection, {"fieldSelector": f"metadata.name={self._job.name}"}, self._on_job
                    )
                ),
                tasks.create_task(self._watch(pods, {"labelSelector": self._job.pod_selector}, self._on_pod)),
            ]
            while True:
                await self._changed.wait()
                await asyncio.sleep(COALESCE)
                self._changed.clear()
                yield self._progress
                if self._progress.outcome or self._progress.gone:
                    break
            for watch in watches:
                watch.cancel()

    async def lines(self) -> AsyncIterator[tuple[Replica, str]]:
        """Yield every log line of the job's pods with the replica it comes from; never ends by itself."""
        while True:
            yield await self._lines.get()

    def pending_lines(self) -> list[tuple[Replica, str]]:
        """Return the lines that have arrived and nobody has asked for yet."""
        lines = []
        with suppress(asyncio.QueueEmpty):
            while True:
                lines.append(self._lines.get_nowait())
        return lines

    async def drain_logs(self, patience: float = 2.0) -> None:
        """Wait until the logs of ended pods have arrived, at most `patience` seconds, then stop following."""
        if self._logs_of:
            await asyncio.wait(self._logs_of.values(), timeout=patience)
        for task in self._logs_of.values():
            task.cancel()
        await asyncio.gather(*self._logs_of.values(), return_exceptions=True)

    async def _watch(self, path: str, selector: dict[str, str], seen: Callable[[str, dict[str, Any]], None]) -> None:
        while True:
            listed = await self._transport.request(Request("GET", path, selector))
            if listed.status != 200:
                await asyncio.sleep(COALESCE)
                continue
            body = json.loads(listed.body)
            for item in body["items"]:
                seen("ADDED", item)
            version = body["metadata"]["resourceVersion"]
            query = {**selector, "watch": "true", "resourceVersion": version, "allowWatchBookmarks": "true"}
            with suppress(OSError):
                async with self._transport.stream(Request("GET", path, query, timeout=600)) as stream:
                    async for line in stream.lines:
                        event = json.loads(line)
                        if event["type"] == "ERROR":
                            break
                        if event["type"] != "BOOKMARK":
                            seen(event["type"], event["object"])

    def _on_job(self, change: str, job: dict[str, Any]) -> None:
        conditions = tuple(job.get("status", {}).get("conditions") or ())
        self._progress = replace(self._progress, conditions=conditions, gone=change == "DELETED")
        self._changed.set()

    def _on_pod(self, change: str, pod: dict[str, Any]) -> None:
        uid = pod["metadata"]["uid"]
        if change == "DELETED":
            self._pods.pop(uid, None)
        else:
            self._pods[uid] = replica = replica_of(pod)
            attempt = started_attempt(pod, self._job.info.container)
            if attempt is not None and (uid, attempt) not in self._logs_of:
                self._logs_of[uid, attempt] = asyncio.create_task(self._follow_log(replica))
        order = {t.lower(): n for n, t in enumerate(self._job.info.replica_types)}
        replicas = sorted(self._pods.values(), key=lambda r: (order.get(r.replica_type, len(order)), r.index))
        self._progress = replace(self._progress, replicas=tuple(replicas))
        self._changed.set()

    async def _follow_log(self, replica: Replica) -> None:
        path = f"/api/v1/namespaces/{self._job.namespace}/pods/{replica.pod}/log"
        query = {"follow": "true", "container": self._job.info.container}
        with suppress(OSError):
            async with self._transport.stream(Request("GET", path, query, timeout=86_400)) as stream:
                if stream.status != 200:
                    return
                async for line in stream.lines:
                    await self._lines.put((replica, line.decode(errors="replace").rstrip("\r\n")))


def started_attempt(pod: Mapping[str, Any], container: str) -> int | None:
    """Return how often the training container was restarted before it started last; None while it is about to start."""
    for status in pod.get("status", {}).get("containerStatuses") or ():
        if status["name"] == container and not {"running", "terminated"}.isdisjoint(status.get("state", {})):
            return int(status.get("restartCount", 0))
    return None


def replica_of(pod: Mapping[str, Any]) -> Replica:
    """Reduce a pod to what is shown of it."""
    labels = pod["metadata"].get("labels", {})
    statuses = pod.get("status", {}).get("containerStatuses") or ()
    ended = next(
        (state for s in statuses for key in ("state", "lastState") if (state := s.get(key, {}).get("terminated"))), None
    )
    phase = "Terminating" if pod["metadata"].get("deletionTimestamp") else pod.get("status", {}).get("phase", "Pending")
    return Replica(
        pod=pod["metadata"]["name"],
        replica_type=labels.get(REPLICA_TYPE_LABEL, ""),
        index=int(labels.get(REPLICA_INDEX_LABEL, 0)),
        phase=phase,
        rank=_rank(pod),
        restarts=sum(s.get("restartCount", 0) for s in statuses),
        ended=f"{ended['exitCode']} {ended.get('reason', '')}".strip() if ended else "",
    )


def _rank(pod: Mapping[str, Any]) -> str:
    values = {e["name"]: e.get("value", "") for c in pod["spec"]["containers"] for e in c.get("env") or ()}
    return next((values[name] for name in RANK_VARIABLES if name in values), "-")
