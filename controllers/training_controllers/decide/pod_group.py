"""The PodGroup of a job (K-11, K-43)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from training_api.kinds import Job
from training_api.models.common import SchedulingPolicy
from training_api.quantity import canonical
from training_controllers.frameworks.base import Framework
from training_controllers.gang.resources import Amounts, plus, pod_requests, times
from training_controllers.gang.schedulers import Demand, GangScheduler
from training_controllers.model.owned_objects import OwnedObject
from training_controllers.model.plan import Slot
from training_controllers.model.pod_spec import CannotBuild, PodSpec

LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
"""Speaks of the job; on another object kubectl would take it for that one's (K-47)."""

Pods = Mapping[str, int]
"""How many pods of each type the job has or is going to have, in processing order."""
Priorities = Mapping[str, int]
"""Values of the priority classes by name; that of pods without a class under the empty name."""


def pod_group(
    job: Job,
    framework: Framework,
    scheduler: GangScheduler,
    pods: Pods,
    *,
    priorities: Priorities | None = None,
    stored: Mapping[str, Any] | None = None,
) -> OwnedObject | None:
    """The PodGroup as it should be; None for a scheduler without any, and for a job without pods.

    `stored` is the spec that the PodGroup has already.
    """
    if scheduler.pod_group is None or not any(pods.values()):
        return None
    policy = job.spec.run_policy.scheduling_policy or SchedulingPolicy()
    members = policy.min_available if policy.min_available is not None else _min_members(job, framework, pods)
    resources: Mapping[str, str]
    if policy.min_resources is not None:
        resources = {name: _canonical(quantity) for name, quantity in policy.min_resources.items()}
    else:
        resources = _written(_least_resources(job, framework, pods, members, priorities or {}))
    demand = Demand(members, resources, policy, queue=(stored or {}).get("queue") or "")
    annotations = {name: text for name, text in job.metadata.annotations.items() if name != LAST_APPLIED}
    return OwnedObject(
        scheduler.pod_group, job.metadata.name, {"spec": scheduler.spec(demand)}, annotations=annotations
    )


def _min_members(job: Job, framework: Framework, pods: Pods) -> int:
    """How many pods the job needs to begin: all, or what an elastic job makes do with; never more than there will be.

    A scheduler that waits for more pods than the job has waits indefinitely.
    """
    return sum(min(framework.min_replicas(job, replica_type), count) for replica_type, count in pods.items())


def _least_resources(job: Job, framework: Framework, pods: Pods, members: int, priorities: Priorities) -> Amounts:
    """What the first `members` pods request: of the most urgent types first, of equal ones as declared (K-11)."""
    total: Amounts = {}
    for replica_type in sorted(pods, key=lambda each: -_priority(job, each, priorities)):
        count = max(0, min(pods[replica_type], members))
        members -= count
        if count:
            total = plus(total, times(pod_requests(_spec(job, framework, replica_type)), count))
    return total


def _priority(job: Job, replica_type: str, priorities: Priorities) -> int:
    spec = job.replicas[replica_type].template.get("spec") or {}
    return priorities.get(spec.get("priorityClassName") or "", 0)


def _spec(job: Job, framework: Framework, replica_type: str) -> PodSpec:
    """The pod spec of a replica with what the framework adds; all replicas of a type request the same."""
    try:
        return framework.pod_spec(job, Slot(replica_type, 0))
    except CannotBuild:
        return job.replicas[replica_type].template.get("spec") or {}


def _canonical(quantity: int | str) -> str:
    """A quantity as v1 writes it; one that makes no sense as it is, so that the API server can say so."""
    try:
        return canonical(str(quantity))
    except ValueError:
        return str(quantity)


def _written(amounts: Amounts) -> Mapping[str, str]:
    return {name: str(amounts[name]) for name in sorted(amounts)}
