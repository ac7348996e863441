"""What goes when a job has finished (K-18, K-36)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime

from training_api.kinds import Job
from training_api.models.common import CleanPodPolicy
from training_controllers.decide.limits import failed_by_limit
from training_controllers.model.records import PodRecord, ServiceRecord
from training_controllers.observe.injected_sidecars import SIDECAR_GRACE
from training_controllers.observe.pod_failures import is_active


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


def services_to_delete(
    pods: Sequence[PodRecord], deleted: Collection[PodRecord], services: Sequence[ServiceRecord]
) -> tuple[ServiceRecord, ...]:
    """The services of the finished job, except those of pods that are kept running (K-36)."""
    gone = {pod.uid for pod in deleted}
    serving = {pod.name for pod in pods if is_active(pod) and pod.uid not in gone}
    return tuple(service for service in services if not service.deleting and service.name not in serving)
