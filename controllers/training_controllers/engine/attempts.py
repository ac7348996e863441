"""Policy: of a job with restart scope `job` all replicas live and restart together, one attempt after the other.

The number of the present attempt is in the status, and on each pod the one that it belongs to. Raising the number is
all it takes to end an attempt: pods with a lower one hold no slot any more, they are deleted, and nothing is created
until the last of them has gone. So it does not matter where an operator stops and another one goes on.
"""

from __future__ import annotations

from collections.abc import Iterator

from training_controllers.engine import restarts
from training_controllers.engine.disruptions import how, is_disrupted, is_refused
from training_controllers.engine.draft import Draft
from training_controllers.engine.failures import has_failed
from training_controllers.engine.lost_nodes import must_be_forced, tell_of_force
from training_controllers.engine.model import Carried, EventType, JobEvent, Plan, PodDeletion, Slot
from training_controllers.engine.replica_status import completed_indexes
from training_controllers.engine.situation import Situation, at_rest
from training_controllers.engine.slots import wanted_slots
from training_controllers.engine.verdicts import apply_verdicts, ends_job
from training_controllers.records import PodRecord

MOST_NAMES = 3
"""Pods named in a sentence; of the others it gives the number."""


def begin_next_attempt(situation: Situation, draft: Draft) -> Plan | None:
    """End the present attempt if a replica of it restarts or has lost its pod, and that does not end the job.

    What replicas completed in it counts no more: peers that start anew need them again.
    """
    attempt = situation.placement.attempt
    if attempt is None or not (cause := _end_of_attempt(situation)) or ends_job(situation):
        return None
    apply_verdicts(situation, draft)
    draft.set_replicas({name: at_rest(status) for name, status in situation.statuses.items()})
    draft.update(attempt=attempt + 1)
    text = f"{cause}: all replicas restart together as attempt {attempt + 1}"
    draft.tell([JobEvent(EventType.WARNING, "NextAttempt", text)])
    present = (*situation.placement.holders.items(), *situation.placement.out_of_range)
    twins = (PodDeletion(pod) for pod in situation.placement.twins if not pod.deleting)
    deletions = (*twins, *outdated_pods(situation), *_deletions(situation, present))
    draft.tell(tell_of_force(deletions))
    return draft.plan(delete_pods=deletions, again_after=0.0)


def outdated_pods(situation: Situation) -> Iterator[PodDeletion]:
    """The pods of earlier attempts that have not been deleted yet."""
    yield from _deletions(situation, situation.placement.outdated)


def wait_for_attempt(situation: Situation, draft: Draft) -> None:
    """Say that the present attempt begins once the pods of earlier ones have gone."""
    left = sorted(pod.name for _, pod in situation.placement.outdated)
    if left:
        more = f" and {len(left) - MOST_NAMES} more" if len(left) > MOST_NAMES else ""
        names = ", ".join(left[:MOST_NAMES]) + more
        draft.wait("Terminating", f"attempt {situation.placement.attempt} begins when these pods have gone: {names}")


def _end_of_attempt(situation: Situation) -> str:
    """Why the present attempt is over; empty while it is not."""
    snapshot, holders = situation.snapshot, situation.placement.holders
    for slot, pod in holders.items():
        began = pod.phase != "Pending" and not is_refused(pod)
        if began and restarts.will_be_replaced(snapshot, slot, pod):
            moment = restarts.replaced_at(snapshot, slot, pod)
            if moment is None or moment <= snapshot.now:
                return f"pod {pod.name} " + (f"was disrupted ({how(pod)})" if is_disrupted(pod) else "has failed")
    lost = {name: count for name in situation.job.replicas if (count := _lost_replicas(situation, name)) > 0}
    return " and ".join(f"{count} {name} replica(s) have lost their pods" for name, count in lost.items())


def _lost_replicas(situation: Situation, replica_type: str) -> int:
    """How many replicas that ran at the last look have lost their pods to somebody else.

    Their peers may wait for them without end. What had not begun to run is simply created again.
    """
    job, stored = situation.job, situation.job.status.replica_statuses.get(replica_type)
    if stored is None:
        return 0
    done = completed_indexes(job, situation.statuses[replica_type], replica_type)
    needed = [slot for slot in wanted_slots(job, replica_type) if slot.index not in done]
    holders = situation.placement.holders
    staying = sum(slot in holders and not holders[slot].deleting for slot in needed)
    return min(stored.active + stored.failed, len(needed)) - staying


def _deletions(situation: Situation, pods: tuple[tuple[Slot, PodRecord], ...]) -> Iterator[PodDeletion]:
    """Failed pods go last: where the status cannot keep the attempt, they tell another operator what goes on."""
    snapshot = situation.snapshot
    level = restarts.common_level(snapshot, situation.placement)
    for slot, pod in sorted(pods, key=lambda each: has_failed(each[1])):
        if not pod.deleting:
            carried = Carried(restarts.seen_by_pod(snapshot, slot, pod), level)
            yield PodDeletion(pod, slot, carried, force=must_be_forced(snapshot, pod))
