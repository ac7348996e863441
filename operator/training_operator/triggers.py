"""Which change enqueues which job."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, NamedTuple

import msgspec

from training_api.kinds import KindInfo
from training_controllers.model.records import JobRecord, OwnedRecord, PodRecord, Record, ServiceRecord
from training_controllers.observe.pod_failures import is_disrupted
from training_controllers.ports import JobKey, ObjectCounter
from training_operator.cache.store import Change, Store
from training_operator.metrics import Metrics
from training_operator.queue import FOLLOW_UP, LOW, MINOR, NORMAL, PROGRESS, WorkQueue

NOT_RUNNING: Final = frozenset({"", "Pending"})
"""Phases of pods that are still to run; services have none."""
COMING_UP: Final = NOT_RUNNING | {"Running"}
BATCH_SECONDS: Final = 0.1
"""Changes of pods and services within this time lead to one reconcile of their job."""
BATCH_SECONDS_PER_OBJECT: Final = 1e-4
"""For jobs of more than 1,000 pods: a decision takes longer with each, some 40 ms for 10,000."""


@dataclass(frozen=True, slots=True)
class KindQueue:
    """The jobs of one kind, and the queue of those to be reconciled."""

    info: KindInfo
    store: Store[JobRecord]
    queue: WorkQueue[JobKey]


class _Owner(NamedTuple):
    """The job that controls an object."""

    kind: KindQueue
    job: JobRecord


class Triggers:
    """Puts jobs into the queues of their kinds as they, or what they control, change."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._kinds: dict[str, KindQueue] = {}
        self.leading = False
        """Whether this process acts; a standby sees the same changes, and counts nothing."""

    def watch_jobs(self, target: KindQueue) -> None:
        """Enqueue the jobs of a kind when they change."""
        self._kinds[target.info.kind] = target
        target.store.subscribe(_enqueue(target.queue))

    def watch_pods(self, pods: Store[PodRecord]) -> None:
        """Enqueue jobs when their pods change, and count how pods end."""
        self.watch_dependents(pods)
        pods.subscribe(self._count_end)

    def watch_dependents(self, dependents: Store[Any]) -> None:
        """Enqueue jobs when objects of one kind that they own change."""
        dependents.subscribe(partial(self._dependent_changed, dependents))

    def enqueue_all(self) -> None:
        """Enqueue every job, because a resource has appeared or vanished that jobs may wait for (K-50)."""
        for kind in self._kinds.values():
            for record in kind.store:
                kind.queue.add(record.key, priority=LOW)

    def enqueue_owners(self, pods: list[PodRecord]) -> None:
        """Enqueue the jobs of these pods."""
        for owner in map(self._job_of, pods):
            if owner is not None:
                owner.kind.queue.add_after(owner.job.key, BATCH_SECONDS, priority=NORMAL)

    def _dependent_changed(self, dependents: Store[Any], change: Change[Any]) -> None:
        if change.old is not None and change.new is not None and _same(change.old, change.new):
            return
        for owner in map(self._job_of, (change.old, change.new)):  # of the same key only the first one counts
            if owner is not None and not _is_left_over(change, owner.job):
                job, urgency = owner.job, _urgency_of_dependent(change, owner.job)
                objects = dependents.count_of_owner(job.namespace, job.uid)
                batch = max(BATCH_SECONDS, objects * BATCH_SECONDS_PER_OBJECT)
                owner.kind.queue.add_after(job.key, batch, priority=urgency)

    def _count_end(self, change: Change[PodRecord]) -> None:
        """Count a pod of ours that has just failed; a standby sees it too, and leaves it to the leader (K-25, K-39)."""
        old, new = change.old, change.new
        if not self.leading or old is None or new is None or (owner := self._job_of(new)) is None:
            return
        if new.phase == "Failed" != old.phase:
            self._metrics.count_object(ObjectCounter.PODS_FAILED)
        if is_disrupted(new) and not is_disrupted(old):
            self._metrics.count_disruption(owner.kind.info, new.namespace)

    def _job_of(self, record: Record | None) -> _Owner | None:
        """Find the cached job that controls `record`; a namesake with another uid is none (E-016)."""
        if record is None or record.owner is None or (kind := self._kinds.get(record.owner.kind)) is None:
            return None
        job = kind.store.get(record.namespace, record.owner.name)
        return _Owner(kind, job) if job is not None and job.uid == record.owner.uid else None


def _enqueue(queue: WorkQueue[JobKey]) -> Callable[[Change[JobRecord]], None]:
    def enqueue(change: Change[JobRecord]) -> None:
        if (record := change.new or change.old) is None:
            return
        # The answer to our own status says nothing new, but one that was read after a lost answer may have a new spec.
        if not (change.expected and _is_status_only(change)):
            queue.add(record.key, priority=_urgency_of_job(change))
        elif record.ended:  # pods that have ended meanwhile were urgent because this status depended on them
            queue.lower(record.key, MINOR)

    return enqueue


def _urgency_of_job(change: Change[JobRecord]) -> int:
    """The priority of a changed job: a change of its status alone needs no haste."""
    if change.initial:
        return LOW
    return FOLLOW_UP if _is_status_only(change) else NORMAL


def _is_status_only(change: Change[JobRecord]) -> bool:
    return change.old is not None and change.new is not None and change.old.raw == change.new.raw


def _is_left_over(change: Change[Any], job: JobRecord) -> bool:
    """Whether a service has gone whose job has ended: nothing more depends on it."""
    return change.new is None and isinstance(change.old, ServiceRecord) and job.ended


def _urgency_of_dependent(change: Change[Any], job: JobRecord) -> int:
    """The priority of the job of a changed object: what comes up is only counted, what ends may be replaced.

    What happens to the objects of a job that has ended can wait for the ends of others.
    """
    if change.initial:
        return LOW
    stays, phase = change.new is not None and not change.new.deleting, getattr(change.new, "phase", "")
    if stays and phase in NOT_RUNNING and not isinstance(change.new, OwnedRecord):  # pods may wait for their gang
        return PROGRESS
    if job.ended:
        return MINOR
    if not stays:
        return NORMAL
    if phase in COMING_UP:
        return PROGRESS if job.has_run else FOLLOW_UP
    return NORMAL


def _same(old: Record, new: Record) -> bool:
    """Whether two records differ in their version at most: then nothing that we use has changed."""
    return old == msgspec.structs.replace(new, version=old.version)
