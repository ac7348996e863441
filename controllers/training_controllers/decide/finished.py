"""Policy: a finished job is cleaned up (cleanPodPolicy) and deleted after ttlSecondsAfterFinished (K-18, K-36)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from typing import Final

from training_api.conditions import find, holds, is_finished
from training_api.kinds import Job
from training_api.models.common import CleanPodPolicy, ConditionType, ReplicaStatus
from training_controllers.decide.job_state import JobState, as_succeeded
from training_controllers.decide.limits import failed_by_limit
from training_controllers.decide.owned_changes import granting_objects, owned_changes
from training_controllers.decide.status_builder import StatusBuilder
from training_controllers.model import deadlines
from training_controllers.model.plan import Plan, PodDeletion, Slot
from training_controllers.model.records import PodRecord, ServiceRecord
from training_controllers.observe.injected_sidecars import SIDECAR_GRACE
from training_controllers.observe.pod_failures import is_active, is_running

MANY: Final = 20
"""So many services of a finished job are worth a wait: if all of them go, they can go by one request."""
LAST_PODS: Final = timedelta(minutes=1)
"""In which pods end after those that decided that their job has ended."""


def settle_finished(state: JobState, builder: StatusBuilder) -> Plan | None:
    """Delete what the policy does not keep, correct the counters, and the job itself once it has expired."""
    snapshot, job = state.snapshot, state.job
    if not is_finished(builder.status):
        return None
    deleted = pods_to_delete(job, snapshot.pods, snapshot.now)
    _complete(builder)
    builder.set_replicas(_final_statuses(state, deleted))
    services = services_to_delete(snapshot.pods, deleted, snapshot.services)
    together_by = _together_by(services, snapshot.services, builder.status.completion_time)
    wait_for_rest = together_by is not None and together_by > snapshot.now
    expiry = deadlines.expiry(job, builder.status)
    expired = deadlines.is_past(expiry, snapshot.now)
    waits = [
        expiry,
        together_by if wait_for_rest else None,
        *(end for end in sidecar_deadlines(job, snapshot.pods).values() if end > snapshot.now),
    ]
    return builder.plan(
        owned_changes=owned_changes(snapshot, granting_objects(state, deleted)),
        delete_pods=tuple(PodDeletion(pod) for pod in deleted),
        delete_services=() if wait_for_rest else services,
        delete_job=expired,
        requeue_after=None if expired else deadlines.seconds_until(snapshot.now, waits),
    )


def _complete(builder: StatusBuilder) -> None:
    """Give a job that v1 failed without completion time the time of its failure, so that it can expire (K-05)."""
    if builder.status.completion_time is None:
        ends = (find(builder.status, kind) for kind in (ConditionType.FAILED, ConditionType.SUCCEEDED))
        times = (end.last_transition_time for end in ends if end is not None)
        builder.update(completion_time=next((time for time in times if time is not None), builder.now))


def _final_statuses(state: JobState, deleted: Collection[PodRecord]) -> dict[str, ReplicaStatus]:
    """The last counters of each type; of a failed job those pods are active that are still there and kept (K-42)."""
    stored = state.job.status.replica_statuses
    update = {"restarting_indexes": ""}
    last = {name: stored[name].model_copy(update=update) for name in state.job.replicas if name in stored}
    if holds(state.job.status, ConditionType.SUCCEEDED):
        return {name: as_succeeded(status) for name, status in last.items()}
    gone = {pod.uid for pod in deleted}
    pods_by_slot = state.assignment.pods_by_slot.items()
    kept = [(slot, pod) for slot, pod in pods_by_slot if is_running(pod) and pod.uid not in gone]
    return {name: status.model_copy(update=_still_active(kept, name)) for name, status in last.items()}


def _still_active(kept: Collection[tuple[Slot, PodRecord]], replica_type: str) -> dict[str, int]:
    ready = [pod.ready for slot, pod in kept if slot.replica_type == replica_type]
    return {"active": len(ready), "ready": sum(ready)}


def clean_pod_policy(job: Job) -> CleanPodPolicy:
    """The policy in force: without one, pods are kept, except active ones of a job that exceeded a limit (K-18)."""
    stored = job.spec.run_policy.clean_pod_policy
    if stored is not None:
        return stored
    return CleanPodPolicy.RUNNING if failed_by_limit(job) else CleanPodPolicy.NONE


def pods_to_delete(job: Job, pods: Sequence[PodRecord], now: datetime) -> tuple[PodRecord, ...]:
    """The pods of the finished job that its policy does not keep; those with sidecars after their grace."""
    policy = clean_pod_policy(job)
    ends = sidecar_deadlines(job, pods)
    quiet = [pod for pod in pods if pod.uid not in ends or ends[pod.uid] <= now]
    if policy in (CleanPodPolicy.NONE, CleanPodPolicy.RUNNING):
        return tuple(pod for pod in quiet if pod.uid in ends or (policy == CleanPodPolicy.RUNNING and is_active(pod)))
    return tuple(pod for pod in quiet if not pod.deleting)


def sidecar_deadlines(job: Job, pods: Sequence[PodRecord]) -> dict[str, datetime]:
    """Pods, by uid, that only injected sidecars keep running, and when the grace of these is over.

    They would hold their resources indefinitely, so without a policy they go as well; an explicit `None` keeps them.
    """
    if job.spec.run_policy.clean_pod_policy == CleanPodPolicy.NONE:
        return {}
    return {pod.uid: pod.template_ended_at + SIDECAR_GRACE for pod in pods if pod.template_ended_at is not None}


def _together_by(
    due: Sequence[ServiceRecord], services: Sequence[ServiceRecord], end: datetime | None
) -> datetime | None:
    """Until when services of pods that have ended wait for those of the last pods; None if they go at once."""
    left = sum(not service.deleting for service in services)
    return None if end is None or left < MANY or len(due) == left else end + LAST_PODS


def services_to_delete(
    pods: Sequence[PodRecord], deleted: Collection[PodRecord], services: Sequence[ServiceRecord]
) -> tuple[ServiceRecord, ...]:
    """The services of the finished job, except those of pods that are kept running (K-36)."""
    gone = {pod.uid for pod in deleted}
    serving = {pod.name for pod in pods if is_active(pod) and pod.uid not in gone}
    return tuple(service for service in services if not service.deleting and service.name not in serving)
