"""Gangs: what the run policy and the operator's scheduler say, as the pod group policy of a runtime."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from training_api.models.common import SchedulingPolicy
from training_controllers.gang.schedulers import OFF, VOLCANO, WITHOUT_POD_GROUPS, gang_of
from training_migration.convert.context import Context, Json
from training_migration.convert.plan import Group

COSCHEDULING_NAME: Final = "scheduler-plugins-scheduler"
QUEUE: Final = "scheduling.volcano.sh/queue-name"
PATH: Final = "spec.runPolicy.schedulingPolicy"


@dataclass(frozen=True, slots=True)
class Gang:
    """How pods of one job are placed together."""

    scheduler: str = ""
    """What pods name; empty: they are not placed together."""
    policy: Json | None = None
    """`podGroupPolicy` of the runtime."""
    annotations: Json = field(default_factory=dict)
    """Of the JobSet."""


def gang(context: Context) -> Gang:
    """The gang of the job, by the scheduler that the options, the operator's settings or the job itself name."""
    job = context.job.job
    policy = job.spec.run_policy.scheduling_policy
    scheduler = _scheduler(context, policy)
    if not scheduler:
        return Gang()
    if scheduler in WITHOUT_POD_GROUPS:
        return Gang(scheduler)
    chosen = policy or SchedulingPolicy()
    if chosen.min_available is not None or chosen.min_resources:
        given = [name for name, value in _minima(chosen) if value]
        context.notes.add("MIG309", f"{' and '.join(given)} dropped: v2 always waits for all pods.", PATH)
    if scheduler != VOLCANO.name:
        seconds = chosen.schedule_timeout_seconds
        timeout = {} if seconds is None else {"scheduleTimeoutSeconds": seconds}
        return Gang(scheduler, {"coscheduling": timeout})
    if not context.features.volcano:
        context.notes.add("MIG002", f"Trainer {context.options.target} has no pod groups of Volcano.", PATH)
        return Gang(scheduler)
    return Gang(scheduler, {"volcano": {}}, {QUEUE: chosen.queue} if chosen.queue else {})


def _minima(policy: SchedulingPolicy) -> Sequence[tuple[str, bool]]:
    return ("minAvailable", policy.min_available is not None), ("minResources", bool(policy.min_resources))


def _scheduler(context: Context, policy: SchedulingPolicy | None) -> str:
    """Name of the scheduler, or nothing."""
    job, flag = context.job.job, context.options.gang_scheduler
    if flag:
        return "" if flag.lower() in OFF else flag
    if (known := gang_of(job, context.job.framework.gang)) is not None:
        return known.name
    named = {_named(context, replica_type) for replica_type in job.replicas} - {""}
    if VOLCANO.name in named:
        return VOLCANO.name
    if policy is None:
        return ""
    volcano = policy.queue or policy.priority_class or policy.schedule_timeout_seconds is None
    scheduler = VOLCANO.name if volcano and not named else next(iter(sorted(named)), COSCHEDULING_NAME)
    context.notes.add(
        "MIG312",
        f"a scheduling policy is given, but not which scheduler the operator works with: {scheduler} is taken;"
        " --gang-scheduler-name gives another one, or none.",
        PATH,
    )
    return scheduler


def _named(context: Context, replica_type: str) -> str:
    pod = context.replica(replica_type).template.get("spec") or {}
    return str(pod.get("schedulerName") or "")


def placed(context: Context, group: Group, scheduler: str) -> Group:
    """The group with what its pods have to say to the scheduler."""
    if not scheduler:
        return group
    pod = dict(group.template["spec"])
    pod.setdefault("schedulerName", scheduler)
    policy = context.job.job.spec.run_policy.scheduling_policy
    if policy is not None and policy.priority_class and scheduler == VOLCANO.name and "priorityClassName" not in pod:
        pod["priorityClassName"] = policy.priority_class
        context.notes.add(
            "MIG310",
            f"priority class {policy.priority_class} is that of the pods now, not of their group only.",
            f"{PATH}.priorityClass",
            fixed=True,
        )
    return replace(group, template={**group.template, "spec": pod})
