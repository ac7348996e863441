"""What v1's operator decides, asked of its own rules."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from training_api.models.common import ConditionType, ReplicaStatus, RestartPolicy
from training_controllers.model.index_ranges import IndexRanges
from training_migration.diff.endings import FailureAction, Reaction, Success
from training_migration.diff.pairing import Place
from training_migration.v1_job import V1Job


def success(job: V1Job, numbers: Mapping[Place, int]) -> Success:
    """The pods whose success is the job's: each one that is enough, else the fewest of one role, else all."""
    enough = [place for place in _first_and_last(numbers) if _succeeds(job, numbers, [place])]
    if enough:
        roles = {place.role for place in enough}
        all_of_role = [place for place in numbers if place.role in roles]
        some = all_of_role if len(enough) > 1 else enough
        return Success(frozenset(numbers[place] for place in some), any_of_them=len(some) > 1)
    for role in dict.fromkeys(place.role for place in numbers):
        members = [place for place in numbers if place.role == role]
        if _succeeds(job, numbers, members):
            return Success(frozenset(numbers[place] for place in members))
    return Success(frozenset(numbers.values()))


def _first_and_last(numbers: Mapping[Place, int]) -> Iterator[Place]:
    """Of each role; those between are as the last."""
    for role in dict.fromkeys(place.role for place in numbers):
        members = sorted(place for place in numbers if place.role == role)
        yield from dict.fromkeys((members[0], members[-1]))


def _succeeds(job: V1Job, numbers: Mapping[Place, int], succeeded: Collection[Place]) -> bool:
    """Whether the job has succeeded when these pods have and all others run."""
    statuses = {}
    for replica_type in job.job.replicas:
        members = [place for place in numbers if place.role == replica_type.lower()]
        done = [place.index for place in members if place in succeeded]
        statuses[replica_type] = ReplicaStatus(
            active=len(members) - len(done), succeeded=len(done), completed_indexes=str(IndexRanges.of(done))
        )
    return any(verdict.condition is ConditionType.SUCCEEDED for verdict in job.framework.evaluate(job.job, statuses))


def reaction(job: V1Job, role: str, exit_code: int) -> Reaction:
    """To the end of a container that trains; exit codes from 128 on are retried under `ExitCode`."""
    replica_type = next(name for name in job.job.replicas if name.lower() == role)
    policy = job.job.replicas[replica_type].restart_policy
    limit = job.job.spec.run_policy.backoff_limit
    counted = "all pods together" if len(job.job.replicas) > 1 else ""
    match policy:
        case RestartPolicy.ALWAYS | RestartPolicy.ON_FAILURE:
            return Reaction(FailureAction.RESTARTS, limit, in_place=True, counted=counted)
        case RestartPolicy.EXIT_CODE if exit_code >= 128:
            return Reaction(FailureAction.RESTARTS, limit, counted=counted)
        case RestartPolicy.EXIT_CODE:
            return Reaction(FailureAction.FAILS)
    return Reaction(FailureAction.FAILS if _fails(job, replica_type) else FailureAction.GOES_ON)


def _fails(job: V1Job, replica_type: str) -> bool:
    """Whether one failed replica that does not start again ends the job."""
    statuses = {
        name: ReplicaStatus(active=max((replica.replicas or 0) - (name == replica_type), 0))
        for name, replica in job.job.replicas.items()
    }
    statuses[replica_type] = statuses[replica_type].model_copy(update={"failed": 1})
    return any(verdict.condition is ConditionType.FAILED for verdict in job.framework.evaluate(job.job, statuses))
