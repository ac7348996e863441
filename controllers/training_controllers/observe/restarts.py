"""Counting restarts and spacing recreations (K-03, K-04).

The restarts of a slot are the sum of its restart history (an annotation on the pod), the restarts of its containers,
and one for the failed pod that is about to be replaced. So the count includes a recreation before the pod is deleted,
and stays the same when the replacement, which has the sum in its annotation, appears.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from training_controllers.model.annotations import restarts_together
from training_controllers.model.index_ranges import NONE, IndexRanges, parse_ranges
from training_controllers.model.plan import RestartHistory, Slot, Snapshot
from training_controllers.model.records import PodRecord
from training_controllers.observe.pod_failures import FailureAction, failure_action, is_rejected
from training_controllers.observe.slots import SlotAssignment

FIRST_DELAY = timedelta(seconds=10)
LONGEST_DELAY = timedelta(minutes=5)
CALM = timedelta(minutes=10)
"""A pod that ran this long does not count as one of a series of failures."""


def will_be_replaced(snapshot: Snapshot, slot: Slot, pod: PodRecord) -> bool:
    """Whether the pod has failed or was disrupted, its replica is still wanted and may restart."""
    action = failure_action(snapshot.job, slot, pod)
    return action in (FailureAction.REPLACE, FailureAction.RESTART) and _is_wanted(snapshot, slot)


def counts(snapshot: Snapshot, slot: Slot, pod: PodRecord) -> bool:
    """Whether the replacement of the pod is a restart: those of disrupted pods only are if the job wants that."""
    return failure_action(snapshot.job, slot, pod) is FailureAction.RESTART and _is_wanted(snapshot, slot)


def _is_wanted(snapshot: Snapshot, slot: Slot) -> bool:
    return slot.index < snapshot.job.count(slot.replica_type)


def seen_by_pod(snapshot: Snapshot, slot: Slot, pod: PodRecord) -> int:
    """Restarts that the slot of `pod` has seen, the recreation that is due included.

    A restart of all replicas together is counted for the job, not for each of them.
    """
    alone = not restarts_together(snapshot.job)
    seen = pod.restarts_before + sum(c.restarts for c in pod.containers)
    seen += 1 if alone and counts(snapshot, slot, pod) else 0
    return max(seen, snapshot.history.get(slot, RestartHistory()).restarts) if pod.deleting else seen


def seen_by_type(snapshot: Snapshot, assignment: SlotAssignment, replica_type: str) -> int:
    """Restarts that the slots of a type account for: through their pods or, while there is none, through memory."""
    in_place = assignment.pods_by_slot
    outdated = (each for each in assignment.outdated if each[0] not in in_place)
    pods = (*outdated, *assignment.notable.items(), *assignment.out_of_range)
    held = {slot: pod for slot, pod in pods if slot.replica_type == replica_type}
    by_pods = sum(seen_by_pod(snapshot, slot, pod) for slot, pod in held.items())
    by_memory = sum(
        history.restarts
        for slot, history in snapshot.history.items()
        if slot.replica_type == replica_type and slot not in held and slot not in in_place
    )
    return by_pods + by_memory


def due_indexes(snapshot: Snapshot, assignment: SlotAssignment, replica_type: str) -> IndexRanges:
    """Indexes of the replicas of a type that restart because their pods have failed."""
    own = ((slot, pod) for slot, pod in assignment.notable.items() if slot.replica_type == replica_type)
    return IndexRanges.of(slot.index for slot, pod in own if counts(snapshot, slot, pod))


def uncounted_indexes(snapshot: Snapshot, assignment: SlotAssignment, replica_type: str) -> IndexRanges:
    """Those of them that the stored count does not include yet.

    The status names the others. Without these names a count could not distinguish a stored failure, whose pod was not
    deleted before the process ended, from a new failure of another replica. Of a job that restarts as a whole only the
    first failure of an attempt counts: the others fail because of it.
    """
    if restarts_together(snapshot.job):
        first = _first_failure(snapshot, assignment)
        return IndexRanges.of([first.index] if first is not None and first.replica_type == replica_type else ())
    stored = snapshot.job.status.replica_statuses.get(replica_type)
    counted = parse_ranges(stored.restarting_indexes) if stored else NONE
    return due_indexes(snapshot, assignment, replica_type) - counted


def _first_failure(snapshot: Snapshot, assignment: SlotAssignment) -> Slot | None:
    """The slot whose pod was the first of the attempt to fail.

    None if none has, if that has been counted, or if the others fail because one was disrupted first.
    """
    if any(status.restarting_indexes for status in snapshot.job.status.replica_statuses.values()):
        return None
    failed = [(slot, pod) for slot, pod in assignment.notable.items() if will_be_replaced(snapshot, slot, pod)]
    slot, pod = min(failed, key=lambda each: (_ended(each[1]) or snapshot.now, each[0]), default=(None, None))
    return slot if slot is not None and pod is not None and counts(snapshot, slot, pod) else None


def total(snapshot: Snapshot, assignment: SlotAssignment, replica_type: str) -> int:
    """Restarts of a type; it never falls, so a pod that vanishes takes nothing away, and each failure adds one."""
    stored = snapshot.job.status.replica_statuses.get(replica_type)
    new = len(uncounted_indexes(snapshot, assignment, replica_type))
    seen = seen_by_type(snapshot, assignment, replica_type)
    if not restarts_together(snapshot.job):
        seen -= new
    return max(stored.restarts if stored else 0, seen) + new


def restart_histories(
    snapshot: Snapshot, assignment: SlotAssignment, replica_type: str, slots: Sequence[Slot]
) -> dict[Slot, RestartHistory]:
    """The restart histories of the new pods of a type in `slots`.

    What the stored count has beyond all pods and memory (pods vanished while no operator ran) goes to the first of
    them, so that the sum stays correct.
    """
    histories = {slot: snapshot.history.get(slot, RestartHistory()) for slot in slots}
    if slots:
        lost = total(snapshot, assignment, replica_type) - seen_by_type(snapshot, assignment, replica_type)
        first = histories[slots[0]]
        histories[slots[0]] = RestartHistory(first.restarts + lost, first.backoff_level)
    return histories


def history_for_replacement(snapshot: Snapshot, slot: Slot, pod: PodRecord) -> RestartHistory:
    """The restart history of the pod that replaces `pod`."""
    level = _next_level(snapshot, slot, pod) if will_be_replaced(snapshot, slot, pod) else 0
    return RestartHistory(seen_by_pod(snapshot, slot, pod), level)


def common_level(snapshot: Snapshot, assignment: SlotAssignment) -> int:
    """Place of the next attempt in a series of failures: the highest of all replicas is that of all.

    Pods that are deleted already have left theirs in memory.
    """
    pods = (*assignment.notable.items(), *assignment.outdated)
    levels = [_next_level(snapshot, slot, pod) for slot, pod in pods if will_be_replaced(snapshot, slot, pod)]
    levels += [history.backoff_level for history in snapshot.history.values()]
    return max(levels, default=0)


def replaced_at(snapshot: Snapshot, slot: Slot, pod: PodRecord) -> datetime | None:
    """When a pod that will be replaced may be; None for at once: if disrupted while it ran, or terminating."""
    return recreation_due(pod) if _is_in_series(snapshot, slot, pod) and not pod.deleting else None


def recreation_due(pod: PodRecord) -> datetime | None:
    """When the failed pod may be replaced: 0 s, 10 s, 20 s ... 5 min after it ended; None for at once.

    If no container has a time of its end, the delay counts from the pod's creation.
    """
    level, ended = _level(pod), _ended(pod)
    if level == 0 or ended is None:
        return None
    return ended + min(FIRST_DELAY * (1 << min(level - 1, 10)), LONGEST_DELAY)


def _ended(pod: PodRecord) -> datetime | None:
    return max((c.finished_at for c in pod.containers if c.finished_at), default=pod.created)


def _next_level(snapshot: Snapshot, slot: Slot, pod: PodRecord) -> int:
    return _level(pod) + (1 if _is_in_series(snapshot, slot, pod) else 0)


def _is_in_series(snapshot: Snapshot, slot: Slot, pod: PodRecord) -> bool:
    """Whether one pod of the slot after the other may fail in the same way, so that replacements back off."""
    return counts(snapshot, slot, pod) or is_rejected(pod)


def _level(pod: PodRecord) -> int:
    """Place of the pod in a series of failures, 0 for the first."""
    spans = (c.finished_at - c.started_at for c in pod.containers if c.finished_at and c.started_at and not c.init)
    return 0 if max(spans, default=timedelta()) >= CALM else pod.backoff_level
