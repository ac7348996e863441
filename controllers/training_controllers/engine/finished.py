"""Policy: a finished job is cleaned up and, when its time to live is over, deleted."""

from __future__ import annotations

from collections.abc import Collection

from training_api.conditions import find, holds, is_finished
from training_api.models.common import ConditionType, ReplicaStatus
from training_controllers.engine import timers
from training_controllers.engine.cleanup import last_words, pods_to_delete, services_to_delete
from training_controllers.engine.companions import companion_changes
from training_controllers.engine.draft import Draft
from training_controllers.engine.failures import is_running
from training_controllers.engine.model import Plan, PodDeletion, Slot
from training_controllers.engine.situation import Situation
from training_controllers.records import PodRecord


def settle_finished(situation: Situation, draft: Draft) -> Plan | None:
    """Delete what the policy does not keep, correct the counters, and the job itself once it has expired."""
    snapshot, job = situation.snapshot, situation.job
    if not is_finished(draft.status):
        return None
    doomed = pods_to_delete(job, snapshot.pods, snapshot.now)
    _complete(draft)
    draft.set_replicas(_final_statuses(situation, doomed))
    expiry = timers.expiry(job, draft.status)
    expired = timers.is_past(expiry, snapshot.now)
    waits = [expiry, *(end for end in last_words(job, snapshot.pods).values() if end > snapshot.now)]
    return draft.plan(
        companions=companion_changes(snapshot, ()),
        delete_pods=tuple(PodDeletion(pod) for pod in doomed),
        delete_services=services_to_delete(snapshot.pods, doomed, snapshot.services),
        delete_job=expired,
        again_after=None if expired else timers.seconds_until(snapshot.now, waits),
    )


def _complete(draft: Draft) -> None:
    """Give a job that v1 failed without completion time the time of its failure, so that it can expire (K-05)."""
    if draft.status.completion_time is None:
        ends = (find(draft.status, kind) for kind in (ConditionType.FAILED, ConditionType.SUCCEEDED))
        times = (end.last_transition_time for end in ends if end is not None)
        draft.update(completion_time=next((time for time in times if time is not None), draft.now))


def _final_statuses(situation: Situation, doomed: Collection[PodRecord]) -> dict[str, ReplicaStatus]:
    """The last counters of each type.

    What was active counts as succeeded if the job has, as in v1 (E-081); of a failed job those pods are active that
    are still there and kept (K-42).
    """
    stored = situation.job.status.replica_statuses
    update = {"restarting_indexes": ""}
    last = {name: stored[name].model_copy(update=update) for name in situation.job.replicas if name in stored}
    if holds(situation.job.status, ConditionType.SUCCEEDED):
        return {
            name: status.model_copy(update={"succeeded": status.succeeded + status.active, "active": 0, "ready": 0})
            for name, status in last.items()
        }
    gone = {pod.uid for pod in doomed}
    holders = situation.placement.holders.items()
    kept = [(slot, pod) for slot, pod in holders if is_running(pod) and pod.uid not in gone]
    return {name: status.model_copy(update=_still_active(kept, name)) for name, status in last.items()}


def _still_active(kept: Collection[tuple[Slot, PodRecord]], replica_type: str) -> dict[str, int]:
    ready = [pod.ready for slot, pod in kept if slot.replica_type == replica_type]
    return {"active": len(ready), "ready": sum(ready)}
