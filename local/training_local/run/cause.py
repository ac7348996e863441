"""Why a job failed, or why it does not start: the first cause, found in what its pods went through; no effects."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final

from training_local.run.endings import Ending, container_ends, moment
from training_local.run.progress import JobProgress, JobRef, Replica, replica_of

PATIENCE: Final = timedelta(seconds=4)
"""How long a job may be without any replica that runs before that is worth a sentence."""

MOST_FAILURES: Final = 1_000
"""How many failures of one series are remembered; the first is among them."""


@dataclass(frozen=True, slots=True)
class Failure:
    """One failed attempt of a container, or the failure of a whole pod (then `container` is empty)."""

    replica: Replica
    pod_uid: str
    container: str
    init: bool
    attempt: int
    ending: Ending

    @property
    def key(self) -> tuple[str, str, int]:
        """What makes it the same when it is seen again."""
        return self.pod_uid, self.container, self.attempt

    @property
    def sentence(self) -> str:
        """Which replica and container, and what became of it."""
        kind = "init container" if self.init else "container"
        which = f", {kind} {self.container}" if self.container else ""
        again = f", after {self.attempt} restart{'s' if self.attempt > 1 else ''}" if self.attempt else ""
        return f"{self.replica.short_name} (pod {self.replica.pod}{which}) {self.ending.sentence}{again}"


@dataclass(frozen=True, slots=True)
class Failures:
    """The failures since all replicas ran together last, in the order in which they were seen."""

    seen: tuple[Failure, ...] = ()
    known: frozenset[tuple[str, str, int]] = frozenset()
    """Keys of all failures ever seen: those before the replicas ran together are not counted again."""
    recovered: bool = False
    """Whether all replicas have run together since the last of `seen`; the next failure starts a new series."""

    def after_pod(self, pod: Mapping[str, Any]) -> Failures:
        """Take in a pod as it is now. What ends because it is being deleted is the work of a clean-up, and no cause."""
        fresh = [failure for failure in failures_of(pod) if failure.key not in self.known]
        if not fresh:
            return self
        known = self.known | {failure.key for failure in fresh}
        causes = tuple(failure for failure in fresh if not _cleaned_up(pod, failure))
        if not causes:
            return replace(self, known=known)
        series = () if self.recovered else self.seen
        return Failures((*series, *causes)[:MOST_FAILURES], known)

    def after_progress(self, progress: JobProgress) -> Failures:
        """Take in how the replicas stand."""
        return replace(self, recovered=True) if progress.whole and self.seen and not self.recovered else self

    @property
    def first(self) -> Failure | None:
        """The one that ended first; of those in the same second (the API has none smaller) the one seen first."""
        moments = [failure.ending.finished_at for failure in self.seen]
        latest = max((m for m in moments if m), default=None)
        return min(self.seen, key=lambda f: f.ending.finished_at or latest or datetime.max, default=None)


def failures_of(pod: Mapping[str, Any]) -> list[Failure]:
    """Return the failures that a pod shows."""
    status, uid, shown = pod.get("status") or {}, pod["metadata"]["uid"], replica_of(pod)
    failures = [
        Failure(shown, uid, end.container, end.init, end.attempt, end.ending)
        for end in container_ends(status)
        if end.ending.failed
    ]
    whole_pod = status.get("phase") == "Failed" and (status.get("reason") or not failures)
    if whole_pod:  # evicted, over its deadline, rejected by its node: the ends of its containers are the consequence
        ending = Ending(None, status.get("reason") or "", status.get("message") or "")
        return [Failure(shown, uid, "", False, 0, ending)]
    return failures


def _cleaned_up(pod: Mapping[str, Any], failure: Failure) -> bool:
    """Whether the end came with the pod's deletion: a pod that failed before it is deleted has failed by itself."""
    deleted = moment(pod["metadata"].get("deletionTimestamp"))
    if deleted is None:
        return False
    asked = deleted - timedelta(seconds=pod["metadata"].get("deletionGracePeriodSeconds") or 0)
    return failure.ending.finished_at is None or failure.ending.finished_at >= asked


def standstill(job: JobRef, progress: JobProgress, since: datetime, now: datetime) -> str:
    """Say in one sentence why nothing of the job runs; empty while it does, or while it may be about to.

    `since` is when the job was created. What cannot be mended by waiting is said at once, the rest after `PATIENCE`.
    """
    if progress.outcome or progress.gone:
        return ""
    if progress.managed_by:
        return f"{job} is ignored: its spec.runPolicy.managedBy names another controller, {progress.managed_by}"
    if progress.suspended:
        return f"{job} is suspended (spec.runPolicy.suspend is true); resume it with: {resume_command(job)}"
    started = any(r.phase not in ("Pending", "Terminating") or r.restarts for r in progress.replicas)
    return "" if started or now - since < PATIENCE else _not_started(job, progress)


def resume_command(job: JobRef) -> str:
    """Return what a user types to resume a suspended job."""
    patch = '{"spec":{"runPolicy":{"suspend":false}}}'
    return f"kubectl patch {job.info.singular} {job.name} -n {job.namespace} --type merge -p '{patch}'"


def _not_started(job: JobRef, progress: JobProgress) -> str:
    stuck = [r for r in progress.replicas if r.waiting and not r.waiting.harmless]
    if stuck:
        others = f" (and {len(stuck) - 1} more)" if len(stuck) > 1 else ""
        return f"{job} has not started: {stuck[0].short_name}{others} waits: {stuck[0].waiting}"
    if progress.waiting:
        return f"{job} has not started: {progress.waiting}"
    return "" if progress.replicas else f"{job} has no pods yet"
