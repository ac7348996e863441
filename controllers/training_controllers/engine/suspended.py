"""Policy: a suspended job has no pods and no services; what resumes starts its clocks anew."""

from __future__ import annotations

from training_api.conditions import holds
from training_api.models.common import ConditionStatus, ConditionType
from training_controllers.engine.companions import companion_changes
from training_controllers.engine.draft import Draft
from training_controllers.engine.model import Carried, EventType, Plan, PodDeletion
from training_controllers.engine.restarts import seen_by_pod
from training_controllers.engine.situation import Situation
from training_controllers.engine.slots import slot_of
from training_controllers.records import PodRecord


def hold_suspended(situation: Situation, draft: Draft) -> Plan | None:
    """Delete everything of a job that is to be suspended, whatever its clean-up policy, and say so once (K-48)."""
    snapshot, job = situation.snapshot, situation.job
    if not job.spec.run_policy.suspend:
        return None
    message = f"{job.info.kind} {job.metadata.name} is suspended."
    _stop_counters(situation, draft)
    if holds(draft.status, ConditionType.RUNNING):
        draft.condition(ConditionType.RUNNING, message, status=ConditionStatus.FALSE, reason="Suspended")
    if not holds(draft.status, ConditionType.SUSPENDED):
        draft.condition(ConditionType.SUSPENDED, message)
        draft.announce(EventType.NORMAL, "Suspended", message)
    return draft.plan(
        companions=companion_changes(snapshot, ()),
        delete_pods=tuple(_deletion(situation, pod) for pod in snapshot.pods if not pod.deleting),
        delete_services=tuple(service for service in snapshot.services if not service.deleting),
    )


def resume(draft: Draft) -> None:
    """Let a job that was suspended go on: its active time starts anew (K-62)."""
    if holds(draft.status, ConditionType.SUSPENDED):
        message = f"{draft.job.info.kind} {draft.job.metadata.name} is resumed."
        draft.condition(ConditionType.SUSPENDED, message, status=ConditionStatus.FALSE, reason="Resumed")
        draft.update(start_time=draft.now)
        draft.announce(EventType.NORMAL, "Resumed", message)


def _stop_counters(situation: Situation, draft: Draft) -> None:
    """Nothing is active any more; what has succeeded, failed and restarted stays as it was."""
    stored = situation.job.status.replica_statuses
    draft.set_replicas(
        {
            name: stored[name].model_copy(
                update={
                    "active": 0,
                    "ready": 0,
                    "restarts": counted.restarts,
                    "completed_indexes": counted.completed_indexes,
                    "restarting_indexes": counted.restarting_indexes,
                }
            )
            for name, counted in situation.statuses.items()
            if name in stored
        }
    )


def _deletion(situation: Situation, pod: PodRecord) -> PodDeletion:
    slot = slot_of(situation.job, pod.replica_type, pod.index)
    if slot is None:
        return PodDeletion(pod)
    return PodDeletion(pod, slot, Carried(seen_by_pod(situation.snapshot, slot, pod)))
