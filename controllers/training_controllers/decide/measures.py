"""Measures for metrics in a new status: how long the job took to start and to end, and what restarted, why.

All of it is the difference between two statuses of which the newer one has just been stored. So every figure is
measured once, by the process that stored it: a process that comes later finds it in the older status.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Final

from training_api.conditions import find, holds, is_finished
from training_api.kinds import Job
from training_api.models.common import ConditionStatus, ConditionType, JobStatus
from training_controllers.model.annotations import restarts_together
from training_controllers.model.index_ranges import parse_ranges
from training_controllers.model.plan import Slot, Snapshot, WaitingReason
from training_controllers.observe.lost_nodes import without_lost_pods
from training_controllers.observe.pod_failures import is_disrupted
from training_controllers.observe.slots import slot_of

NONE: Final = ""
"""The state of a job without stored status, and the reason of one that does not wait."""
STATES: Final = frozenset(each.lower() for each in ConditionType)
REASONS: Final = frozenset(WaitingReason)


class RestartCause(StrEnum):
    """Why a replica, or the whole job, was started again."""

    FAILURE = "failure"
    """A pod failed and is replaced."""
    DISRUPTION = "disruption"
    """A pod was evicted, preempted, or lost with its node, and its replacement counts as a restart."""
    CONTAINER = "container"
    """The kubelet started a container again in its pod."""
    SCOPE = "scope"
    """All replicas start again together, whatever the cause; their pods are not counted one by one."""


@dataclass(frozen=True, slots=True)
class Measures:
    """The measures of one stored status; mostly none."""

    start: float | None = None
    """Seconds from the job's creation, or its resumption if it began suspended, until it ran first."""
    duration: float | None = None
    """Seconds from the job's start, or the last resumption, until it ended."""
    succeeded: bool = False
    """Whether the job ended with success."""
    restarts: Mapping[RestartCause, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class JobPhase:
    """The phase of a job, for counting jobs by phase."""

    state: str = NONE
    """The type of its newest condition that holds, in lower case."""
    waiting: str = NONE
    """The reason why it makes no progress."""


def phase(status: JobStatus) -> JobPhase:
    """The phase of a job with this status."""
    true = [each.type.lower() for each in status.conditions if each.status == ConditionStatus.TRUE]
    known = [state for state in true if state in STATES]  # a label of a metric takes no words of others
    reason = status.waiting.reason if status.waiting else NONE
    return JobPhase(known[-1] if known else NONE, reason if reason in REASONS else NONE)


def measure(snapshot: Snapshot, status: JobStatus) -> Measures:
    """What is new in `status`, which was decided on from `snapshot` and has been stored."""
    return Measures(
        start=_start(snapshot, status),
        duration=_duration(snapshot.job, status),
        succeeded=holds(status, ConditionType.SUCCEEDED),
        restarts={cause: count for cause, count in _restarts(snapshot, status).items() if count > 0},
    )


def _start(snapshot: Snapshot, status: JobStatus) -> float | None:
    """A job that has run before has a condition Running, even if a false one, or has Restarting in its place."""
    before, created = snapshot.job.status, snapshot.job.metadata.creation_timestamp
    ran = find(before, ConditionType.RUNNING) or find(before, ConditionType.RESTARTING)
    if ran or created is None or not holds(status, ConditionType.RUNNING):
        return None
    suspended = find(status, ConditionType.SUSPENDED)
    begun = suspended.last_transition_time if suspended else None
    return _seconds(begun or created, snapshot.now)


def _duration(job: Job, status: JobStatus) -> float | None:
    begun = status.start_time or job.metadata.creation_timestamp
    if is_finished(job.status) or not is_finished(status) or begun is None or status.completion_time is None:
        return None
    return _seconds(begun, status.completion_time)


def _seconds(begin: datetime, end: datetime) -> float:
    return max((end - begin).total_seconds(), 0.0)


def _restarts(snapshot: Snapshot, status: JobStatus) -> Mapping[RestartCause, int]:
    """New restarts by cause.

    v1's own CRDs prune the counts, so the first reconcile of such a job has nothing to compare with.
    """
    before = snapshot.job.status
    if before.observed_generation is None:
        return {}
    failed, grown = _newly_failed(snapshot, status), _total(status) - _total(before)
    if restarts_together(snapshot.job):
        attempts = status.attempt - before.attempt
        own = 1 if attempts or failed else 0
        return {RestartCause.SCOPE: attempts, RestartCause.CONTAINER: grown - own}
    in_place = {RestartCause.CONTAINER: grown - len(failed)}
    if not failed or is_finished(status):  # a job that has ended replaces nothing
        return in_place
    disrupted = len(_disrupted(snapshot).intersection(failed))
    return in_place | {RestartCause.FAILURE: len(failed) - disrupted, RestartCause.DISRUPTION: disrupted}


def _total(status: JobStatus) -> int:
    return sum(each.restarts for each in status.replica_statuses.values())


def _newly_failed(snapshot: Snapshot, status: JobStatus) -> list[Slot]:
    """The replicas whose pods will be replaced and were not about to be before."""
    before = snapshot.job.status.replica_statuses
    return [
        Slot(name, index)
        for name, after in status.replica_statuses.items()
        for index in parse_ranges(after.restarting_indexes)
        - parse_ranges(before[name].restarting_indexes if name in before else "")
    ]


def _disrupted(snapshot: Snapshot) -> set[Slot | None]:
    pods = without_lost_pods(snapshot).pods
    return {slot_of(snapshot.job, pod.replica_type, pod.index) for pod in pods if is_disrupted(pod)}
