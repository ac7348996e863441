"""Following one job through the API: its conditions, its replicas, their logs, what went wrong first."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

from training_local.run.cause import Failure, Failures
from training_local.run.pod_logs import LAST_LINES, LogChoice, LogFollower, LogUnavailable, read_log
from training_local.run.progress import JobProgress, JobRef, Replica, progress_of, replica_of
from training_local.run.watching import Seen, watch
from training_operator.kube.transport import Request, Transport

COALESCE: Final = 0.05
"""Seconds in which several changes are shown as one."""
REMARKS: Final = frozenset({"HostMode", "NoFramework", "OwnTemporaryFiles", "Unsupported"})
"""Reasons of events about what a pod lacks here; it runs all the same, and may fail of it."""


class JobFollower:
    """Keeps the progress of one job up to date and hands out its changes and log lines."""

    def __init__(
        self, transport: Transport, job: JobRef, choice: LogChoice | None = None, observe: Seen = lambda *_: None
    ) -> None:
        """`observe` is called with every change of the job and its pods, as they are stored."""
        self._transport, self.job, self._observe = transport, job, observe
        self.logs = LogFollower(transport, job.namespace, choice or LogChoice(job.info.container, all_attempts=True))
        self.failures = Failures()
        self.progress = JobProgress()
        self._changed = asyncio.Event()
        self._stored: dict[str, Any] = {}
        self._replicas: dict[str, Replica] = {}

    async def until_end(self, changed: Callable[[JobProgress], None]) -> None:
        """Call `changed` with the progress after each change, until the job has ended or is gone: the last one."""
        pods = f"/api/v1/namespaces/{self.job.namespace}/pods"
        named = {"fieldSelector": f"metadata.name={self.job.name}"}
        async with asyncio.TaskGroup() as tasks:
            watches = [
                tasks.create_task(self._watch(self.job.collection, named, self._on_job)),
                tasks.create_task(self._watch(pods, {"labelSelector": self.job.pod_selector}, self._on_pod)),
            ]
            while True:
                await self._changed.wait()
                await asyncio.sleep(COALESCE)
                self._changed.clear()
                changed(self.progress)
                if self.progress.outcome or self.progress.gone:
                    break
            for task in watches:
                task.cancel()

    async def last_lines(self, failure: Failure) -> list[str]:
        """Return the last lines of a failed attempt: those that were followed, else those that the node still has."""
        if not failure.container:
            return []
        followed = failure.container == self.job.info.container
        if followed and (lines := self.logs.last_lines(failure.pod_uid, failure.attempt)):
            return lines
        now = self._replicas.get(failure.pod_uid)
        if now is None:  # its log has gone with it
            return []
        previous = now.attempts.get(failure.container, 0) > failure.attempt
        choice = LogChoice(failure.container, LAST_LINES, previous=previous)
        with suppress(LogUnavailable, OSError):
            return [line.text async for line in read_log(self._transport, self.job.namespace, now, choice)]
        return []

    async def remarks(self, failure: Failure) -> list[str]:
        """Return what the node has said that the failed pod lacks on this machine."""
        path = f"/api/v1/namespaces/{self.job.namespace}/events"
        with suppress(OSError):
            events = json.loads((await self._transport.request(Request("GET", path))).body)["items"]
            own = (each for each in events if each["involvedObject"].get("uid") == failure.pod_uid)
            return list(dict.fromkeys(each["message"] for each in own if each["reason"] in REMARKS))
        return []

    async def _watch(self, path: str, selector: dict[str, str], seen: Seen) -> None:
        try:
            await watch(self._transport, path, selector, seen)
        except OSError:  # a `local run` takes its cluster along as soon as the job has ended
            if not self.progress.outcome:
                raise

    def _on_job(self, change: str, job: dict[str, Any]) -> None:
        self._observe(change, job)
        self._stored = job
        self._show(gone=change == "DELETED")

    def _on_pod(self, change: str, pod: dict[str, Any]) -> None:
        self._observe(change, pod)
        uid = pod["metadata"]["uid"]
        self.failures = self.failures.after_pod(pod)
        if change == "DELETED":
            self._replicas.pop(uid, None)
        else:
            self._replicas[uid] = replica_of(pod)
            self.logs.take(pod)
        self._show(gone=self.progress.gone)

    def _show(self, *, gone: bool) -> None:
        progress = progress_of(self.job.info, self._stored, list(self._replicas.values()), gone=gone)
        self.failures = self.failures.after_progress(progress)
        self.progress = progress
        self._changed.set()
