"""Restarts, limits, clean-up and the end."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from training_api.models.common import CleanPodPolicy, RestartPolicy
from training_controllers.model.annotations import DISRUPTIONS, RESTART_SCOPE
from training_migration.choices import Ttl
from training_migration.convert.hazards import V1_ONLY
from training_migration.findings import Severity
from training_migration.lint.checks import Spot
from training_migration.lint.v1.subject import V1, Subject

_MORE_THAN_V1: Final = frozenset({RESTART_SCOPE.annotation, DISRUPTIONS.annotation})
"""Extensions that v2 does not have; the others are met by it, or by a conversion."""
_RUN: Final = "spec.runPolicy"


def _restarts(subject: Subject) -> bool:
    return any(role.spec.restart_policy is not RestartPolicy.NEVER for role in subject.roles)


@V1.rule("MIG301")
def no_limit(subject: Subject) -> Iterator[Spot]:
    """Restarts without a limit."""
    if subject.policy.backoff_limit is None and _restarts(subject):
        yield Spot("v1 restarts without limit, a Job gives up after 6.", f"{_RUN}.backoffLimit")


@V1.rule("MIG302")
def other_count(subject: Subject) -> Iterator[Spot]:
    """A limit of restarts."""
    if subject.policy.backoff_limit is not None and _restarts(subject):
        message = f"v1 fails at {subject.policy.backoff_limit} restarts of all replicas together, a Job counts its own."
        yield Spot(message, f"{_RUN}.backoffLimit")


def _with_policy(subject: Subject, policy: RestartPolicy, message: str) -> Iterator[Spot]:
    for role in subject.roles:
        if role.spec.restart_policy is policy:
            yield Spot(message, f"{role.path}.restartPolicy")


@V1.rule("MIG303")
def exit_code(subject: Subject) -> Iterator[Spot]:
    """Exit codes that decide."""
    message = "v1 restarts after exit codes from 128 on only; a Job needs a failure policy for that."
    yield from _with_policy(subject, RestartPolicy.EXIT_CODE, message)


@V1.rule("MIG304")
def always(subject: Subject) -> Iterator[Spot]:
    """Restarts after success."""
    message = "v1 restarts after success too; a Job does not."
    yield from _with_policy(subject, RestartPolicy.ALWAYS, message)


@V1.rule("MIG305")
def remains(subject: Subject) -> Iterator[Spot]:
    """Pods that stay, or that all go."""
    path, policy = f"{_RUN}.cleanPodPolicy", subject.policy.clean_pod_policy
    if policy is CleanPodPolicy.ALL:
        yield Spot("v1 deletes all pods at the end; v2 keeps those that have finished.", path)
    elif policy is not CleanPodPolicy.RUNNING:
        yield Spot("v1 leaves running pods alone at the end; v2 deletes them.", path, severity=Severity.INFO)


@V1.rule("MIG306")
def time_to_live(subject: Subject) -> Iterator[Spot]:
    """A time to live."""
    if subject.policy.ttl_seconds_after_finished is None:
        return
    path, target = f"{_RUN}.ttlSecondsAfterFinished", subject.options.target
    if subject.options.ttl is Ttl.KEEP and subject.features.ttl_runs_again:
        yield Spot(f"with Trainer {target} a failed job starts again when its JobSet expires, forever.", path)
    else:
        yield Spot("v2 does not delete finished TrainJobs.", path, severity=Severity.WARNING)


@V1.rule("MIG307")
def deadline(subject: Subject) -> Iterator[Spot]:
    """A deadline."""
    if (seconds := subject.policy.active_deadline_seconds) is not None:
        message = f"the {seconds} s begin with the creation or the last resume, and all pods go at their end."
        yield Spot(message, f"{_RUN}.activeDeadlineSeconds")


@V1.rule("MIG308")
def one_decides(subject: Subject) -> Iterator[Spot]:
    """A replica whose success is that of the job, next to others."""
    if subject.policy.clean_pod_policy in (None, CleanPodPolicy.NONE):
        return
    elastic = getattr(subject.spec, "elastic_policy", None) is not None
    if subject.kind in ("PyTorchJob", "XGBoostJob") and subject.size > 1 and (subject.has_master or elastic):
        who = "its master" if subject.has_master else "any worker"
        message = f"the job succeeds with {who}; a Job needs a success policy for that."
        yield Spot(message, f"spec.{subject.info.replica_field}")
    elif subject.kind == "TFJob" and subject.size > 1 and _first_worker_decides(subject):
        message = "the job succeeds with worker 0; a Job needs a success policy for that."
        yield Spot(message, "spec.successPolicy")


def _first_worker_decides(subject: Subject) -> bool:
    has_chief = subject.role("Chief") is not None or subject.has_master
    return not has_chief and str(subject.spec.success_policy or "") != "AllWorkers"


@V1.rule("MIG309")
def gang_size(subject: Subject) -> Iterator[Spot]:
    """A gang that is smaller than the job, or whose resources are written out."""
    policy = subject.policy.scheduling_policy
    if policy is None:
        return
    if policy.min_available is not None and policy.min_available != subject.size:
        message = f"v1 begins with {policy.min_available} pods, v2 with all {subject.size}."
        yield Spot(message, f"{_RUN}.schedulingPolicy.minAvailable")
    if policy.min_resources is not None:
        yield Spot("v2 asks for the sum of all requests.", f"{_RUN}.schedulingPolicy.minResources")


@V1.rule("MIG310")
def priority(subject: Subject) -> Iterator[Spot]:
    """A priority class of the gang."""
    policy = subject.policy.scheduling_policy
    if policy is not None and policy.priority_class:
        message = f"priority class {policy.priority_class} becomes that of the pods."
        yield Spot(message, f"{_RUN}.schedulingPolicy.priorityClass")


@V1.rule("MIG312")
def unnamed_scheduler(subject: Subject) -> Iterator[Spot]:
    """A gang whose scheduler is not named."""
    named = any(role.pod.get("schedulerName") for role in subject.roles)
    if subject.policy.scheduling_policy is not None and not named and not subject.options.gang_scheduler:
        message = "v1's operator knows the gang scheduler by a flag; in v2 the runtime names it."
        yield Spot(message, f"{_RUN}.schedulingPolicy")


@V1.rule("MIG313")
def extensions(subject: Subject) -> Iterator[Spot]:
    """Annotations that ask this operator for more than v1 has."""
    for name in sorted(_MORE_THAN_V1 & subject.job.metadata.annotations.keys()):
        yield Spot(f"v2 does not know annotation {name}.", f"metadata.annotations[{name}]")


@V1.rule("MIG314")
def of_other_tools(subject: Subject) -> Iterator[Spot]:
    """Annotations by which other tools act on jobs of v1."""
    for name in subject.job.metadata.annotations:
        if name in V1_ONLY:
            yield Spot(f"{V1_ONLY[name]}.", f"metadata.annotations[{name}]")


@V1.rule("MIG311")
def manager(subject: Subject) -> Iterator[Spot]:
    """A manager."""
    if subject.policy.managed_by:
        yield Spot(f"manager {subject.policy.managed_by} has a name of its own in v2.", f"{_RUN}.managedBy")
