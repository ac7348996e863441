"""Policy: an active job has the pods and services of its spec, and a status that counts them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Final

from training_api.conditions import holds
from training_api.kinds import Job
from training_api.models.common import CleanPodPolicy, ConditionType
from training_controllers.decide.attempts import outdated_pods, wait_for_attempt
from training_controllers.decide.gang import pod_groups
from training_controllers.decide.job_conditions import apply_conditions
from training_controllers.decide.job_state import JobState
from training_controllers.decide.owned_changes import owned_changes, unavailable
from training_controllers.decide.pod_events import kept_pods, template_warnings, unplaced_at
from training_controllers.decide.status_builder import StatusBuilder
from training_controllers.decide.waiting import deletion_overdue_at, pod_causes
from training_controllers.model import deadlines
from training_controllers.model.index_ranges import IndexRanges
from training_controllers.model.owned_objects import OWNED_KINDS
from training_controllers.model.plan import Cause, NewPod, Plan, PodDeletion, Slot
from training_controllers.model.records import PodRecord, ServiceRecord
from training_controllers.observe import restarts
from training_controllers.observe.lost_nodes import (
    force_delete_at,
    forced_deletion_events,
    forced_deletions,
    must_be_forced,
)
from training_controllers.observe.pod_failures import has_not_started
from training_controllers.observe.replica_status import completed_indexes
from training_controllers.observe.slots import filled_indexes, of_removed_type, slot_of

MOST_AT_ONCE: Final = 1000
"""Replicas of one type that one plan creates. Those that follow are planned when these exist, so that a decision costs
what it does next, not what the job asks for."""
FIRST_AT_ONCE: Final = 100
"""So many while none of them exists: where pods are rejected, by a quota for example, no more services are made."""


def run_replicas(state: JobState, builder: StatusBuilder) -> Plan:
    """Count the replicas, set the conditions, and unless that ends the job bring pods and services to its spec."""
    snapshot, job = state.snapshot, state.job
    if builder.status.start_time is None:
        builder.update(start_time=builder.now)
    builder.set_replicas(state.statuses)
    own = state.framework.owned_objects(job, state.assignment.pods_by_slot)
    changes = owned_changes(snapshot, (*pod_groups(state), *own))
    if apply_conditions(state, builder):
        if holds(builder.status, ConditionType.SUCCEEDED):
            builder.set_replicas(state.statuses_after_success)
        if job.spec.run_policy.clean_pod_policy in (None, CleanPodPolicy.NONE):
            waiting_pods = sum(map(has_not_started, snapshot.pods))
            builder.add_events(kept_pods(waiting_pods, "finished job have not started, still wait"))
        # As in v1: the list of hosts loses the worker that has ended the job.
        return builder.plan(owned_changes=changes, requeue_after=0.0)

    unmet = tuple(unavailable(snapshot, own))
    lacking = {name: _Lacking.of(state, name) for name in job.replicas}
    new_pods = _new_pods(state, lacking) if not unmet else ()
    waiting, due = _recreations(state)
    deletions = (*_superfluous_pods(state), *forced_deletions(snapshot), *due)
    builder.add_events(forced_deletion_events(deletions))
    missing_services, superfluous_services = _services(state, lacking)
    _set_waiting(state, builder, unmet, lacks_objects=bool(new_pods or missing_services))
    return builder.plan(
        owned_changes=changes,
        delete_pods=deletions,
        delete_services=tuple(superfluous_services),
        create_services=tuple(missing_services),
        create_pods=new_pods,
        requeue_after=deadlines.seconds_until(
            snapshot.now,
            [
                deadlines.active_deadline(job, builder.status),
                *waiting,
                *_due(state, deletion_overdue_at),
                *_due(state, unplaced_at),
                *force_delete_at(snapshot),
            ],
        ),
    )


def _set_waiting(state: JobState, builder: StatusBuilder, unmet: Iterable[Cause], *, lacks_objects: bool) -> None:
    """All reasons why the job makes no progress; the status keeps the most urgent."""
    snapshot = state.snapshot
    for cause in unmet:
        builder.set_waiting(*cause)
    for kind, cause in snapshot.owned_errors.items():
        if not OWNED_KINDS[kind].gates:
            builder.set_waiting(*cause)
    for cause in snapshot.create_errors.values() if lacks_objects else ():
        builder.set_waiting(*cause)
    for cause in pod_causes(state):
        builder.set_waiting(*cause)
    wait_for_attempt(state, builder)


def _due(state: JobState, moment_of: Callable[[PodRecord], datetime | None]) -> Iterator[datetime]:
    """When an event about a pod is due, as long as it stays as it is."""
    moments = (moment_of(pod) for pod in state.assignment.notable.values())
    return (moment for moment in moments if moment is not None and moment > state.snapshot.now)


@dataclass(frozen=True, slots=True)
class _Lacking:
    """The replicas of one type that have no pod."""

    indexes: IndexRanges
    """Those that lack one and whose work is not done (K-13)."""
    next: tuple[int, ...]
    """Those of them whose pods are created next."""

    @classmethod
    def of(cls, state: JobState, replica_type: str) -> _Lacking:
        filled = filled_indexes(state.assignment, replica_type)
        done = completed_indexes(state.job, state.statuses[replica_type], replica_type)
        indexes = IndexRanges.below(state.job.count(replica_type)) - filled - done
        return cls(indexes, tuple(islice(indexes, MOST_AT_ONCE if filled else FIRST_AT_ONCE)))


def _new_pods(state: JobState, lacking: Mapping[str, _Lacking]) -> tuple[NewPod, ...]:
    """Pods for the empty slots: those of auxiliary types first, those of the others once all of these exist.

    They need not run by then. Pods of one attempt wait until the last pod of earlier attempts has gone.
    """
    if state.assignment.outdated:
        return ()
    due = {name: each.next for name, each in lacking.items() if each.next}
    first = {name: indexes for name, indexes in due.items() if name in state.framework.auxiliary_types}
    return tuple(_missing_pods(state, first or due))


def _missing_pods(state: JobState, lacking: Mapping[str, Iterable[int]]) -> Iterator[NewPod]:
    """Pods for these indexes of each type."""
    job, assignment = state.job, state.assignment
    for replica_type, indexes in lacking.items():
        slots = [Slot(replica_type, index) for index in indexes]
        histories = restarts.restart_histories(state.snapshot, assignment, replica_type, slots)
        events = tuple(template_warnings(job, state.framework, replica_type))
        yield from (NewPod(slot, histories[slot], assignment.attempt, events) for slot in slots)


def _recreations(state: JobState) -> tuple[list[datetime], list[PodDeletion]]:
    """When the failed pods that back off may be deleted, and those that are deleted now; replacements come later."""
    snapshot = state.snapshot
    waiting, due = [], []
    for slot, pod in state.assignment.notable.items():
        if not restarts.will_be_replaced(snapshot, slot, pod):
            continue
        moment = restarts.replaced_at(snapshot, slot, pod)
        if moment is not None and moment > snapshot.now:
            waiting.append(moment)
        elif not pod.deleting:
            history = restarts.history_for_replacement(snapshot, slot, pod)
            due.append(PodDeletion(pod, slot, history, force=must_be_forced(snapshot, pod)))
    return waiting, due


def _superfluous_pods(state: JobState) -> Iterator[PodDeletion]:
    """Pods out of range, of removed types, duplicates, and of earlier attempts.

    Each of them is deleted once (K-12, K-14).
    """
    snapshot, assignment = state.snapshot, state.assignment
    for slot, pod in assignment.out_of_range:
        if not pod.deleting:
            yield PodDeletion(pod, slot, restarts.history_for_replacement(snapshot, slot, pod))
    yield from (PodDeletion(pod) for pod in (*assignment.duplicates, *assignment.removed) if not pod.deleting)
    yield from outdated_pods(state)


def _services(state: JobState, lacking: Mapping[str, _Lacking]) -> tuple[list[Slot], list[ServiceRecord]]:
    """The next slots that lack a service, and the services of indexes that the job does not want any more (E-032)."""
    job = state.job
    if not job.info.services:
        return [], []
    present = [(slot_of(job, each.replica_type, each.index), each) for each in state.snapshot.services]
    missing = [slot for name in job.replicas for slot in _missing_services(job, name, lacking[name], present)]
    superfluous = (
        each
        for slot, each in present
        if (slot.index >= job.count(slot.replica_type) if slot else of_removed_type(job, each.replica_type, each.index))
    )
    return missing, [each for each in superfluous if not each.deleting]


def _missing_services(
    job: Job, replica_type: str, lacking: _Lacking, present: Iterable[tuple[Slot | None, ServiceRecord]]
) -> Iterator[Slot]:
    """Slots of one type without a service, but for those whose pods are not created next either."""
    later = lacking.indexes - IndexRanges.of(lacking.next)
    filled = IndexRanges.of(slot.index for slot, _ in present if slot and slot.replica_type == replica_type)
    wanted = IndexRanges.below(job.count(replica_type)) - filled - later
    return (Slot(replica_type, index) for index in islice(wanted, MOST_AT_ONCE))
