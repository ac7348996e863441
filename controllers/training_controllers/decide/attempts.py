"""Policy: of a job with restart scope `job` all replicas live and restart together, one attempt after the other.

The number of the present attempt is in the status, and on each pod the one that it belongs to. Raising the number is
all it takes to end an attempt: pods with a lower one hold no slot any more, they are deleted, and nothing is created
until the last of them has gone. So it does not matter where an operator stops and another one continues.
"""

from __future__ import annotations

from collections.abc import Iterator

from training_controllers.decide.job_conditions import apply_conditions, ends_job
from training_controllers.decide.job_state import JobState, at_rest
from training_controllers.decide.status_builder import StatusBuilder
from training_controllers.model.index_ranges import IndexRanges
from training_controllers.model.plan import EventType, JobEvent, Plan, PodDeletion, RestartHistory, Slot
from training_controllers.model.records import PodRecord
from training_controllers.observe import restarts
from training_controllers.observe.lost_nodes import forced_deletion_events, must_be_forced
from training_controllers.observe.pod_failures import has_failed, how, is_disrupted, is_rejected
from training_controllers.observe.replica_status import completed_indexes

MOST_NAMES = 3
"""Pods named in a sentence; of the others it gives the number."""


def begin_next_attempt(state: JobState, builder: StatusBuilder) -> Plan | None:
    """End the present attempt if a replica of it restarts or has lost its pod, and that does not end the job.

    What replicas completed in it counts no more: peers that start again need them again.
    """
    attempt = state.assignment.attempt
    if attempt is None or not (cause := _end_of_attempt(state)) or ends_job(state):
        return None
    apply_conditions(state, builder)
    builder.set_replicas({name: at_rest(status) for name, status in state.statuses.items()})
    builder.update(attempt=attempt + 1)
    text = f"{cause}: all replicas restart together as attempt {attempt + 1}"
    builder.add_events([JobEvent(EventType.WARNING, "NextAttempt", text)])
    present = (*state.assignment.pods_by_slot.items(), *state.assignment.out_of_range)
    duplicates = (PodDeletion(pod) for pod in state.assignment.duplicates if not pod.deleting)
    deletions = (*duplicates, *outdated_pods(state), *_deletions(state, present))
    builder.add_events(forced_deletion_events(deletions))
    return builder.plan(delete_pods=deletions, requeue_after=0.0)


def outdated_pods(state: JobState) -> Iterator[PodDeletion]:
    """The pods of earlier attempts that have not been deleted yet."""
    yield from _deletions(state, state.assignment.outdated)


def wait_for_attempt(state: JobState, builder: StatusBuilder) -> None:
    """Say that the present attempt begins once the pods of earlier ones have gone."""
    left = sorted(pod.name for _, pod in state.assignment.outdated)
    if left:
        more = f" and {len(left) - MOST_NAMES} more" if len(left) > MOST_NAMES else ""
        names = ", ".join(left[:MOST_NAMES]) + more
        builder.set_waiting(
            "Terminating", f"attempt {state.assignment.attempt} starts when these pods are deleted: {names}"
        )


def _end_of_attempt(state: JobState) -> str:
    """Why the present attempt is over; empty while it is not."""
    snapshot = state.snapshot
    for slot, pod in state.assignment.notable.items():
        began = pod.phase != "Pending" and not is_rejected(pod)
        if began and restarts.will_be_replaced(snapshot, slot, pod):
            moment = restarts.replaced_at(snapshot, slot, pod)
            if moment is None or moment <= snapshot.now:
                return f"pod {pod.name} " + (f"was disrupted ({how(pod)})" if is_disrupted(pod) else "has failed")
    lost = {name: count for name in state.job.replicas if (count := _lost_replicas(state, name)) > 0}
    return " and ".join(f"{count} {name} replica(s) have lost their pods" for name, count in lost.items())


def _lost_replicas(state: JobState, replica_type: str) -> int:
    """How many replicas that ran at the last reconcile have lost their pods to another client.

    Their peers may wait for them indefinitely. A pod that had not begun to run is simply created again.
    """
    job, stored = state.job, state.job.status.replica_statuses.get(replica_type)
    if stored is None:
        return 0
    done = completed_indexes(job, state.statuses[replica_type], replica_type)
    needed = len(IndexRanges.below(job.count(replica_type)) - done)
    pods = ((slot, pod) for slot, pod in state.assignment.pods_by_slot.items() if slot.replica_type == replica_type)
    staying = sum(not pod.deleting and slot.index not in done for slot, pod in pods)
    return min(stored.active + stored.failed, needed) - staying


def _deletions(state: JobState, pods: tuple[tuple[Slot, PodRecord], ...]) -> Iterator[PodDeletion]:
    """Failed pods go last: where the CRD prunes the attempt, another operator finds it on them."""
    snapshot = state.snapshot
    level = restarts.common_level(snapshot, state.assignment)
    for slot, pod in sorted(pods, key=lambda each: has_failed(each[1])):
        if not pod.deleting:
            history = RestartHistory(restarts.seen_by_pod(snapshot, slot, pod), level)
            yield PodDeletion(pod, slot, history, force=must_be_forced(snapshot, pod))
