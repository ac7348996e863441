"""Rules by which several frameworks evaluate counted replicas.

A failed replica only counts while its slot has no other pod, so v1's guard "more replicas than succeeded and active
ones" always holds here and is not repeated.
"""

from __future__ import annotations

from collections.abc import Iterator

from training_api.kinds import Job
from training_api.models.common import ConditionType, ReplicaStatus, RestartPolicy
from training_controllers.frameworks.base import ConditionUpdate
from training_controllers.model.annotations import restarts_together


def master_decides(job: Job, replica_type: str, status: ReplicaStatus) -> Iterator[ConditionUpdate]:
    """The job runs while a replica of this type runs, and succeeds when all of them have."""
    subject = f"{job.info.kind} {job.metadata.name}"
    if status.active > 0:
        yield ConditionUpdate(ConditionType.RUNNING, f"{subject} is running.")
    if missing(job, replica_type, status) == 0:
        yield ConditionUpdate(ConditionType.SUCCEEDED, f"{subject} is successfully completed.")


def workers_decide(
    job: Job, replica_type: str, status: ReplicaStatus, *, enough: bool = False
) -> Iterator[ConditionUpdate]:
    """The job succeeds when all replicas of this type have, or those that have are `enough`; it runs with one."""
    subject = f"{job.info.kind} {job.metadata.namespace}/{job.metadata.name}"
    if enough or missing(job, replica_type, status) == 0:
        yield ConditionUpdate(ConditionType.SUCCEEDED, f"{subject} successfully completed.")
    elif status.active > 0:
        yield ConditionUpdate(ConditionType.RUNNING, f"{subject} is running.")


def failed_replicas(job: Job, replica_type: str, status: ReplicaStatus) -> Iterator[ConditionUpdate]:
    """Failed replicas of any type restart, or with restart policy `Never` fail the job."""
    if status.failed == 0:
        return
    subject = f"{job.info.kind} {job.metadata.name}"
    because = f"because {status.failed} {replica_type} replica(s) failed."
    if job.replicas[replica_type].restart_policy == RestartPolicy.NEVER:
        yield ConditionUpdate(ConditionType.FAILED, f"{subject} is failed {because}", replica_type)
    else:
        yield ConditionUpdate(ConditionType.RESTARTING, f"{subject} is restarting {because}", replica_type)


def failed_unless_exit_code(
    job: Job, replica_type: str, status: ReplicaStatus, *, word: str = ""
) -> Iterator[ConditionUpdate]:
    """Failed replicas of any type fail the job, whatever their restart policy; only with `ExitCode` they restart.

    That is v1's rule. A job with restart scope `job` is restarted as a whole, unless the restart policy is `Never`.
    """
    if status.failed == 0:
        return
    subject = f"{job.info.kind} {job.metadata.name}"
    because = f"because {status.failed} {replica_type} replica(s) failed."
    if restarts_despite_failure(job, replica_type):
        yield ConditionUpdate(ConditionType.RESTARTING, f"{subject} is restarting {because}", replica_type)
    else:
        yield ConditionUpdate(ConditionType.FAILED, f"{subject} is failed {because}", replica_type, word)


def restarts_despite_failure(job: Job, replica_type: str) -> bool:
    """Whether `failed_unless_exit_code` lets replicas of this type restart (unless their exit code is permanent)."""
    policy = job.replicas[replica_type].restart_policy
    return policy == RestartPolicy.EXIT_CODE or (policy != RestartPolicy.NEVER and restarts_together(job))


def until_the_end(updates: Iterator[ConditionUpdate]) -> tuple[ConditionUpdate, ...]:
    """The updates up to the first that ends the job: v1 may set Failed after Succeeded, we do not."""
    kept: list[ConditionUpdate] = []
    for update in updates:
        kept.append(update)
        if update.condition in (ConditionType.SUCCEEDED, ConditionType.FAILED):
            break
    return tuple(kept)


def missing(job: Job, replica_type: str, status: ReplicaStatus) -> int:
    """How many replicas of this type have not succeeded yet."""
    return job.count(replica_type) - status.succeeded
