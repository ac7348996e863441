"""Restarts and success: what v1 decides by replica, as limits and policies of a Job."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Final

from training_api.models.common import CleanPodPolicy, RestartPolicy
from training_controllers.model.annotations import RESTART_SCOPE, restarts_together
from training_migration.convert.context import Context, Json
from training_migration.findings import Severity
from training_migration.v2.names import NODE

DEFAULT_LIMIT: Final = 6
"""`backoffLimit` of a Job that does not say it."""
UNLIMITED: Final = 2**31 - 1
"""The largest `backoffLimit`."""
PERMANENT_CODES: Final = range(1, 128)
"""Exit codes that fail a job of v1 under restart policy ExitCode."""
SUCCESS_POLICY_SINCE: Final = (1, 31)
"""The first Kubernetes whose Jobs have a success policy without a feature gate."""


class Decides(Enum):
    """Which pods of a group end its Job."""

    ALL = "all"
    FIRST = "first"
    ANY = "any"


def pod_restart_policy(policy: RestartPolicy | None) -> str:
    """The restart policy of the pods of a Job."""
    return "OnFailure" if policy in (RestartPolicy.ON_FAILURE, RestartPolicy.ALWAYS, None) else "Never"


def job_limits(context: Context, replica_type: str, *, main: str = NODE, decides: Decides = Decides.ALL) -> Json:
    """Fields of the Job of a replica type: how often it may restart, and when it has succeeded."""
    fields: Json = {"backoffLimit": _backoff_limit(context, replica_type)}
    if decides is not Decides.ALL and (success := _success_policy(context, replica_type, decides)):
        fields["successPolicy"] = success
    if context.replica(replica_type).restart_policy is RestartPolicy.EXIT_CODE:
        fields["podFailurePolicy"] = _failure_policy(context, replica_type, main)
    if context.replica(replica_type).restart_policy is RestartPolicy.ALWAYS:
        context.notes.add(
            "MIG304",
            "Always became OnFailure: a replica that ends well is not started again.",
            context.path(replica_type, "restartPolicy"),
        )
    return fields


def with_restart_policy(context: Context, replica_type: str, template: Json) -> Json:
    """The template with the restart policy of its pods; those that start again together are not restarted alone."""
    alone = not starts_anew_together(context)
    policy = pod_restart_policy(context.replica(replica_type).restart_policy) if alone else "Never"
    return {**template, "spec": {**template["spec"], "restartPolicy": policy}}


def starts_anew_together(context: Context) -> bool:
    """Whether one replica that is restarted takes all others along, as this operator does for jobs that ask for it."""
    policies = {replica.restart_policy for replica in context.job.job.replicas.values()}
    return restarts_together(context.job.job) and policies != {RestartPolicy.NEVER}


def failure_policy(context: Context) -> Json:
    """Of the JobSet: how often all Jobs start again together, if they do."""
    if not starts_anew_together(context):
        return {}
    limit = context.job.job.spec.run_policy.backoff_limit
    policy: Json = {"maxRestarts": UNLIMITED if limit is None else max(limit - 1, 0)}
    if any(each.restart_policy is RestartPolicy.EXIT_CODE for each in context.job.job.replicas.values()):
        policy["rules"] = [{"name": "permanent", "action": "FailJobSet", "onJobFailureReasons": ["PodFailurePolicy"]}]
    context.notes.add(
        "MIG313",
        "the job restarts as a whole by the failure policy of the JobSet.",
        f"metadata.annotations[{RESTART_SCOPE.annotation}]",
        fixed=True,
    )
    return {"failurePolicy": policy}


def _backoff_limit(context: Context, replica_type: str) -> int:
    if context.replica(replica_type).restart_policy is RestartPolicy.NEVER or starts_anew_together(context):
        return 0
    limit = context.job.job.spec.run_policy.backoff_limit
    path = "spec.runPolicy.backoffLimit"
    if limit is None:
        context.notes.add(
            "MIG301",
            f"v1 restarts without limit, so the limit of 6 that a Job has is raised to {UNLIMITED}.",
            path,
            fixed=True,
        )
        return UNLIMITED
    context.notes.add(
        "MIG302", f"the limit of {limit} counts the restarts of each group of pods on its own, not of all.", path
    )
    return max(limit, 0)


def _success_policy(context: Context, replica_type: str, decides: Decides) -> Json | None:
    who = "the first pod" if decides is Decides.FIRST else "any pod"
    path = context.path(replica_type)
    if lets_run_on(context):
        _note_waiting(context, who, path)
        return None
    if context.kubernetes < SUCCESS_POLICY_SINCE:
        version = ".".join(map(str, context.kubernetes))
        context.notes.add(
            "MIG308",
            f"v1's job succeeds with {who}, but Jobs of Kubernetes {version} have no success policy:"
            " it succeeds when all pods have.",
            path,
        )
        return None
    text = f"a success policy ends the job with {who}: pods that still run are deleted then, {_as_in_v1(context)}."
    context.notes.add("MIG308", text, path, fixed=True)
    return {"rules": [{"succeededIndexes": "0"} if decides is Decides.FIRST else {"succeededCount": 1}]}


def lets_run_on(context: Context) -> bool:
    """Whether v1 leaves pods alone that still run when the job has ended: `cleanPodPolicy: None`, its default."""
    return context.job.job.spec.run_policy.clean_pod_policy in (None, CleanPodPolicy.NONE)


def succeeds_with(context: Context, decider: str, ends: Mapping[str, bool]) -> tuple[str, ...]:
    """The replica types whose success is that of the JobSet; nothing: all of them.

    `decider` is the one that v1 asks; `ends` says of each type whether its pods end by themselves. Where v1 lets pods
    run on, those are waited for.
    """
    others = [name for name in ends if name != decider]
    if not others:
        return ()
    path = context.path(decider)
    if not lets_run_on(context):
        text = f"the job ends with {decider}: pods of {_listed(others)} that still run are deleted then,"
        context.notes.add("MIG308", f"{text} {_as_in_v1(context)}.", path, fixed=True)
        return (decider,)
    awaited = [decider, *(name for name in others if ends[name])]
    if len(awaited) == len(ends):
        _note_waiting(context, decider, path)
        return ()
    cut = [name for name in others if name not in awaited]
    text = f"pods of {_listed(cut)} are deleted when those of {_listed(awaited)} have ended; v1 lets them run on."
    context.notes.add("MIG308", text, path)
    return tuple(awaited)


def _note_waiting(context: Context, who: str, path: str) -> None:
    text = f"the job is complete when all pods have ended; v1's had succeeded with {who}, and let the others run on."
    context.notes.add("MIG308", text, path, severity=Severity.INFO)


def _as_in_v1(context: Context) -> str:
    return f"as by cleanPodPolicy {context.job.job.spec.run_policy.clean_pod_policy}"


def _listed(names: list[str]) -> str:
    return " and ".join(names)


def _failure_policy(context: Context, replica_type: str, main: str) -> Json:
    context.notes.add(
        "MIG303",
        "ExitCode became a failure policy: codes 1 to 127 fail the job, others start a new pod after a growing delay.",
        context.path(replica_type, "restartPolicy"),
    )
    codes = {"containerName": main, "operator": "In", "values": list(PERMANENT_CODES)}
    return {"rules": [{"action": "FailJob", "onExitCodes": codes}]}
