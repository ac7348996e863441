"""Policy: a suspended job has no pods and no services; a job that resumes starts its deadlines again."""

from __future__ import annotations

from training_api.conditions import holds
from training_api.models.common import ConditionStatus, ConditionType
from training_controllers.decide.job_state import JobState
from training_controllers.decide.owned_changes import granting_objects, owned_changes
from training_controllers.decide.status_builder import StatusBuilder
from training_controllers.model.plan import EventType, Plan, PodDeletion, RestartHistory
from training_controllers.model.records import PodRecord
from training_controllers.observe.restarts import seen_by_pod
from training_controllers.observe.slots import slot_of


def hold_suspended(state: JobState, builder: StatusBuilder) -> Plan | None:
    """Delete everything of a job that is to be suspended, whatever its clean-up policy, and say so once (K-48)."""
    snapshot, job = state.snapshot, state.job
    if not job.spec.run_policy.suspend:
        return None
    message = f"{job.info.kind} {job.metadata.name} is suspended."
    _stop_counters(state, builder)
    builder.update(last_reconcile_time=None)  # a gang that waited waits again when the job is resumed
    if holds(builder.status, ConditionType.RUNNING):
        builder.set_condition(ConditionType.RUNNING, message, status=ConditionStatus.FALSE, reason="Suspended")
    if not holds(builder.status, ConditionType.SUSPENDED):
        builder.set_condition(ConditionType.SUSPENDED, message)
        builder.emit(EventType.NORMAL, "Suspended", message)
    return builder.plan(
        owned_changes=owned_changes(snapshot, granting_objects(state, snapshot.pods)),
        delete_pods=tuple(_deletion(state, pod) for pod in snapshot.pods if not pod.deleting),
        delete_services=tuple(service for service in snapshot.services if not service.deleting),
    )


def resume(builder: StatusBuilder) -> None:
    """Resume a suspended job: its active time starts again (K-62)."""
    if holds(builder.status, ConditionType.SUSPENDED):
        message = f"{builder.job.info.kind} {builder.job.metadata.name} is resumed."
        builder.set_condition(ConditionType.SUSPENDED, message, status=ConditionStatus.FALSE, reason="Resumed")
        builder.update(start_time=builder.now)
        builder.emit(EventType.NORMAL, "Resumed", message)


def _stop_counters(state: JobState, builder: StatusBuilder) -> None:
    """Nothing is active any more; what has succeeded and failed stays as it was, also when its pods have gone."""
    stored = state.job.status.replica_statuses
    counted = {name: status for name, status in state.statuses.items() if name in stored}
    kept = {name: {"succeeded": stored[name].succeeded, "failed": stored[name].failed} for name in counted}
    builder.set_replicas(
        {name: each.model_copy(update={"active": 0, "ready": 0} | kept[name]) for name, each in counted.items()}
    )


def _deletion(state: JobState, pod: PodRecord) -> PodDeletion:
    slot = slot_of(state.job, pod.replica_type, pod.index)
    if slot is None:
        return PodDeletion(pod)
    return PodDeletion(pod, slot, RestartHistory(seen_by_pod(state.snapshot, slot, pod)))
