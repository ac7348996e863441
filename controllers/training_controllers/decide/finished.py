"""Policy: a finished job is cleaned up and, once `ttlSecondsAfterFinished` is over, deleted."""

from __future__ import annotations

from collections.abc import Collection

from training_api.conditions import find, holds, is_finished
from training_api.models.common import ConditionType, ReplicaStatus
from training_controllers.decide.cleanup import pods_to_delete, services_to_delete, sidecar_deadlines
from training_controllers.decide.job_state import JobState
from training_controllers.decide.owned_changes import owned_changes
from training_controllers.decide.status_builder import StatusBuilder
from training_controllers.model import deadlines
from training_controllers.model.plan import Plan, PodDeletion, Slot
from training_controllers.model.records import PodRecord
from training_controllers.observe.pod_failures import is_running


def settle_finished(state: JobState, builder: StatusBuilder) -> Plan | None:
    """Delete what the policy does not keep, correct the counters, and the job itself once it has expired."""
    snapshot, job = state.snapshot, state.job
    if not is_finished(builder.status):
        return None
    doomed = pods_to_delete(job, snapshot.pods, snapshot.now)
    _complete(builder)
    builder.set_replicas(_final_statuses(state, doomed))
    expiry = deadlines.expiry(job, builder.status)
    expired = deadlines.is_past(expiry, snapshot.now)
    waits = [expiry, *(end for end in sidecar_deadlines(job, snapshot.pods).values() if end > snapshot.now)]
    return builder.plan(
        owned_changes=owned_changes(snapshot, ()),
        delete_pods=tuple(PodDeletion(pod) for pod in doomed),
        delete_services=services_to_delete(snapshot.pods, doomed, snapshot.services),
        delete_job=expired,
        requeue_after=None if expired else deadlines.seconds_until(snapshot.now, waits),
    )


def _complete(builder: StatusBuilder) -> None:
    """Give a job that v1 failed without completion time the time of its failure, so that it can expire (K-05)."""
    if builder.status.completion_time is None:
        ends = (find(builder.status, kind) for kind in (ConditionType.FAILED, ConditionType.SUCCEEDED))
        times = (end.last_transition_time for end in ends if end is not None)
        builder.update(completion_time=next((time for time in times if time is not None), builder.now))


def _final_statuses(state: JobState, doomed: Collection[PodRecord]) -> dict[str, ReplicaStatus]:
    """The last counters of each type.

    What was active counts as succeeded if the job has, as in v1 (E-081); of a failed job those pods are active that
    are still there and kept (K-42).
    """
    stored = state.job.status.replica_statuses
    update = {"restarting_indexes": ""}
    last = {name: stored[name].model_copy(update=update) for name in state.job.replicas if name in stored}
    if holds(state.job.status, ConditionType.SUCCEEDED):
        return {
            name: status.model_copy(update={"succeeded": status.succeeded + status.active, "active": 0, "ready": 0})
            for name, status in last.items()
        }
    gone = {pod.uid for pod in doomed}
    pods_by_slot = state.assignment.pods_by_slot.items()
    kept = [(slot, pod) for slot, pod in pods_by_slot if is_running(pod) and pod.uid not in gone]
    return {name: status.model_copy(update=_still_active(kept, name)) for name, status in last.items()}


def _still_active(kept: Collection[tuple[Slot, PodRecord]], replica_type: str) -> dict[str, int]:
    ready = [pod.ready for slot, pod in kept if slot.replica_type == replica_type]
    return {"active": len(ready), "ready": sum(ready)}
