"""The rules that the CRDs make the API server enforce, in Python, for objects that came in through v1's own CRDs.

They are those of v1 with four differences: an object is validated as defaults would complete it (K-54), negative
counts are rejected (K-07), the longest name of a replica must fit into the name of a service (K-33), and there is a
maximum of replicas.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from training_api.constants import MANAGERS, MAX_REPLICAS, MOST_REPLICAS
from training_api.decode import DecodeError, decode_job
from training_api.defaults import canonical_replicas
from training_api.kinds import Job, KindInfo
from training_api.models.common import ReplicaSpec
from training_api.problems import Problem, ProblemKind

NAME_LIMIT = 63
"""Longest name of a service and longest value of a label, in characters."""
NAME_PATTERN = "^[a-z]([-a-z0-9]*[a-z0-9])?$"

NAME_DETAIL = (
    "should match: a DNS-1035 label consists of lower case letters, digits and '-', begins with a letter, and ends "
    "with a letter or a digit"
)
REPLICA_NAME_BEGIN = "is too long: the name of the last "
REPLICA_NAME_END = (
    f" replica, <job>-<type>-<index>, would have more than the {NAME_LIMIT} characters of a service's name"
)
TYPE_MISSING = "must be present"
TYPE_TWICE = "must not be given twice in different spelling"
NOT_ONE = "must be 1"
NOT_POPULATED = "must be at least 1"
NEGATIVE = "must not be negative"
CONTAINERS_MISSING = "must be specified: a replica needs at least one container"
IMAGE_MISSING = "must be required: every container needs an image"
CONTAINER_NAME_MISSING = "must be required: every container needs a name"


def container_missing(info: KindInfo) -> str:
    """The error for a pod without the container in which the kind's program runs."""
    return f"must have at least one container with name {info.container}"


def too_many(max_replicas: int) -> str:
    """The error for too many replicas: the API server's message, and who can change the limit."""
    more = f"; the operator's flag --max-replicas allows up to {MOST_REPLICAS}" if max_replicas < MOST_REPLICAS else ""
    return f"should be less than or equal to {max_replicas}{more}"


def supported(values: Iterable[str]) -> str:
    """The error for a value that is none of these."""
    return "supported values: " + ", ".join(f'"{value}"' for value in values)


def problems(info: KindInfo, stored: object, max_replicas: int = MAX_REPLICAS) -> list[Problem]:
    """All reasons to reject a stored object of this kind; none if it is fine."""
    try:
        return problems_of(decode_job(info, stored), max_replicas)
    except DecodeError as error:
        return [error.problem]


def problems_of(job: Job, max_replicas: int = MAX_REPLICAS) -> list[Problem]:
    """All reasons to reject a decoded job, without defaults.

    An empty `managedBy` is rejected at admission, but not here: stored, it means this operator (K-19).
    """
    info = job.info
    found = [*_name_problems(job), *_manager_problems(job), *_type_problems(job)]
    for replica_type, replica in job.replicas.items():
        if _is_supported(info, replica_type):
            found += _replica_problems(info, replica_type, replica)
    return [*found, *_excesses(job, max_replicas), *_rule_problems(job)]


def _is_supported(info: KindInfo, replica_type: str) -> bool:
    return info.other_types or info.canonical_type(replica_type) in info.replica_types


def _name_problems(job: Job) -> Iterator[Problem]:
    name = job.metadata.name

    def invalid(detail: str) -> Problem:
        return Problem("metadata.name", ProblemKind.INVALID, detail, name)

    if len(name) > NAME_LIMIT:
        yield invalid(f"must be no more than {NAME_LIMIT} characters")
    if job.info.services and not re.fullmatch(NAME_PATTERN, name):
        yield invalid(NAME_DETAIL)
    if job.info.services and len(name) <= NAME_LIMIT:
        for replica_type in job.replicas:
            if len(_last_replica(job, replica_type)) > NAME_LIMIT:
                yield invalid(f"{REPLICA_NAME_BEGIN}{replica_type}{REPLICA_NAME_END}")
                break


def _last_replica(job: Job, replica_type: str) -> str:
    """Name of the replica of this type with the highest index; empty if there is none."""
    replicas = job.replicas[replica_type].replicas
    count = job.info.default_count(replica_type) if replicas is None else replicas
    return f"{job.metadata.name}-{replica_type.lower()}-{count - 1}" if count > 0 else ""


def _manager_problems(job: Job) -> Iterator[Problem]:
    manager = job.spec.run_policy.managed_by
    if manager and manager not in MANAGERS:
        yield Problem("spec.runPolicy.managedBy", ProblemKind.UNSUPPORTED, supported(MANAGERS), manager)


def _type_problems(job: Job) -> Iterator[Problem]:
    info = job.info
    canonical = [info.canonical_type(replica_type) for replica_type in job.replicas]
    for given in job.replicas:
        if not _is_supported(info, given):
            detail = supported(info.replica_types)
            yield Problem(info.replica_path(given), ProblemKind.UNSUPPORTED, detail, given)
    for replica_type in info.replica_types:
        if canonical.count(replica_type) > 1:
            yield Problem(info.replica_path(replica_type), ProblemKind.FORBIDDEN, TYPE_TWICE)
    for replica_type in info.required_types:
        if replica_type not in canonical:
            yield Problem(info.replica_path(replica_type), ProblemKind.REQUIRED, TYPE_MISSING)


def _replica_problems(info: KindInfo, replica_type: str, replica: ReplicaSpec) -> Iterator[Problem]:
    path, count = f"{info.replica_path(replica_type)}.replicas", replica.replicas
    canonical = info.canonical_type(replica_type)
    if count is not None:
        if canonical in info.single_types and count != 1:
            yield Problem(path, ProblemKind.FORBIDDEN, NOT_ONE)
        elif canonical in info.populated_types and count < 1:
            yield Problem(path, ProblemKind.FORBIDDEN, NOT_POPULATED)
        elif count < 0:
            yield Problem(path, ProblemKind.INVALID, NEGATIVE, count)
    yield from _container_problems(info, f"{info.replica_path(replica_type)}.template.spec.containers", replica)


def _excesses(job: Job, max_replicas: int) -> Iterator[Problem]:
    """Numbers of replicas of which there may not be so many, whatever the type is called."""
    counts = {f"{job.info.replica_path(name)}.replicas": each.replicas for name, each in job.replicas.items()}
    counts |= {f"spec.{path}": bound for path, bound in job.spec.bounds.items()}
    for path, count in counts.items():
        if count is not None and count > max_replicas:
            yield Problem(path, ProblemKind.INVALID, too_many(max_replicas), count)


def _container_problems(info: KindInfo, path: str, replica: ReplicaSpec) -> Iterator[Problem]:
    pod: Mapping[str, Any] = replica.template.get("spec") or {}
    containers = pod.get("containers") or ()
    if not containers:
        yield Problem(path, ProblemKind.REQUIRED, CONTAINERS_MISSING)
    for position, container in enumerate(containers):
        if not container.get("image"):
            yield Problem(f"{path}[{position}].image", ProblemKind.REQUIRED, IMAGE_MISSING)
        if not container.get("name"):
            yield Problem(f"{path}[{position}].name", ProblemKind.REQUIRED, CONTAINER_NAME_MISSING)
    if info.services and info.container not in (container.get("name") for container in containers):
        yield Problem(path, ProblemKind.REQUIRED, container_missing(info))


def _rule_problems(job: Job) -> Iterator[Problem]:
    spec = job.spec.model_copy(update={"replica_specs": canonical_replicas(job.info, job.spec.replica_specs)})
    for rule in job.info.rules:
        if rule.broken(spec):
            yield Problem(f"spec.{rule.path}", rule.problem, rule.detail)
