"""The slot assignment: the pod of each slot, duplicates and pods out of range (K-07, K-08, K-09, K-12, K-14, K-41)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache

from training_api.kinds import Job
from training_controllers.model.annotations import restarts_together
from training_controllers.model.index_ranges import IndexRanges
from training_controllers.model.plan import Slot
from training_controllers.model.records import PodRecord

_LONG_AGO = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class SlotAssignment:
    """The pods of a job by slot, and those without a slot, which are deleted."""

    pods_by_slot: Mapping[Slot, PodRecord]
    """The pod of each wanted slot that has one; it may be terminating."""
    out_of_range: tuple[tuple[Slot, PodRecord], ...]
    """Pods of indexes that the job does not want any more."""
    duplicates: tuple[PodRecord, ...]
    """Pods whose slot has an older pod."""
    notable: Mapping[Slot, PodRecord] = field(default_factory=dict)
    """Those of `pods_by_slot` that did not simply come up and run: whatever failed, waits, stops or restarted."""
    removed: tuple[PodRecord, ...] = ()
    """Pods of types that the job does not have any more."""
    attempt: int | None = None
    """The present attempt of a job that restarts as a whole, from 0."""
    outdated: tuple[tuple[Slot, PodRecord], ...] = ()
    """Pods of earlier attempts, by the slot of their labels; all have to go before others are created."""


def wanted_slots(job: Job, replica_type: str) -> Iterator[Slot]:
    """The slots of a type: one for each desired replica, none for 0 or a negative number (K-07)."""
    return (Slot(replica_type, index) for index in range(job.count(replica_type)))


def slot_of(job: Job, replica_type: str, index: int) -> Slot | None:
    """The slot that the labels of an object name; None if they name no type of the job or no index (E-034)."""
    canonical = _spellings(tuple(job.replicas)).get(replica_type)
    if canonical in job.info.unnumbered_types:
        index = max(index, 0)
    return Slot(canonical, index) if canonical is not None and index >= 0 else None


def assign_slots(job: Job, pods: Sequence[PodRecord]) -> SlotAssignment:
    """Give each pod its slot. Pods whose labels name no slot and no type of the kind are ignored."""
    desired = {name: job.count(name) for name in job.replicas}
    attempt = _present_attempt(job, pods)
    outdated: list[tuple[Slot, PodRecord]] = []
    pods_by_slot: dict[Slot, PodRecord] = {}
    out_of_range: list[tuple[Slot, PodRecord]] = []
    duplicates: list[PodRecord] = []
    removed: list[PodRecord] = []
    for pod in sorted(pods, key=_precedence):
        slot = slot_of(job, pod.replica_type, pod.index)
        if slot is None:
            if of_removed_type(job, pod.replica_type, pod.index):
                removed.append(pod)
        elif attempt is not None and pod.attempt < attempt:
            outdated.append((slot, pod))
        elif slot.index >= desired[slot.replica_type]:
            out_of_range.append((slot, pod))
        elif slot in pods_by_slot:
            duplicates.append(pod)
        else:
            pods_by_slot[slot] = pod
    return SlotAssignment(
        pods_by_slot,
        tuple(out_of_range),
        tuple(duplicates),
        {slot: pod for slot, pod in pods_by_slot.items() if _is_notable(pod)},
        tuple(removed),
        attempt,
        tuple(outdated),
    )


def filled_indexes(assignment: SlotAssignment, replica_type: str) -> IndexRanges:
    """The indexes of a type that have a pod."""
    return IndexRanges.of(slot.index for slot in assignment.pods_by_slot if slot.replica_type == replica_type)


def _is_notable(pod: PodRecord) -> bool:
    ends = pod.phase == "Failed" or pod.deleting or pod.disrupted
    return bool(ends or pod.containers or pod.condition_reason or pod.restarts_before)


def _present_attempt(job: Job, pods: Sequence[PodRecord]) -> int | None:
    """The number in the status; where the CRD prunes that and the process has restarted, that of the pods."""
    return max((job.status.attempt, *(pod.attempt for pod in pods))) if restarts_together(job) else None


def of_removed_type(job: Job, replica_type: str, index: int) -> bool:
    """Whether the labels of an object name a replica of a type of the kind that the job does not have (any more)."""
    known = replica_type in _spellings(job.info.replica_types)
    return known and index >= 0 and replica_type not in _spellings(tuple(job.replicas))


@lru_cache(maxsize=64)
def _spellings(replica_types: tuple[str, ...]) -> Mapping[str, str]:
    """Canonical types by the spelling that labels use."""
    return {name.lower(): name for name in replica_types}


def _precedence(pod: PodRecord) -> tuple[bool, datetime, str]:
    """Pods that stay before terminating ones, older ones first (K-12)."""
    return pod.deleting, pod.created or _LONG_AGO, pod.name
