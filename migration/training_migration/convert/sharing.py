"""Few runtimes for many jobs: one for all whose runtimes differ in nothing that a TrainJob cannot say itself."""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from training_migration.convert.context import Json
from training_migration.convert.conversion import Conversion
from training_migration.convert.lifecycle import UNLIMITED
from training_migration.convert.portable import (
    PULL_POLICY,
    Portable,
    common_entries,
    portable,
    runtime_spec,
    train_job_spec,
)
from training_migration.v2.classes import default_pull_policy
from training_migration.v2.names import CLUSTER_RUNTIME, FRAMEWORK, RUNTIME, TRAINER_API

LONGEST: Final = 50
"""Characters of a name, before a part of a hash."""
_FRAMEWORK: Final = {"plainml": "plain"}


@dataclass(frozen=True, slots=True)
class _Member:
    """A job that may share its runtime."""

    at: int
    conversion: Conversion
    portable: Portable
    pull_policies: frozenset[str]
    """What its runtime may say of pulling images; empty text: nothing."""


def shared(conversions: Sequence[Conversion]) -> tuple[list[Conversion], list[Json]]:
    """The same jobs on as few runtimes as do, and these; jobs that need a runtime of their own keep it.

    A runtime for jobs of several namespaces is a ClusterTrainingRuntime.
    """
    result = list(conversions)
    found = list(_groups([member for at, each in enumerate(conversions) if (member := _member(at, each))]))
    names = _names([(_traits(members[0], policy), members[0].portable.shape) for policy, members in found])
    runtimes = []
    for name, (policy, members) in zip(names, found, strict=True):
        common = common_entries(member.portable for member in members)
        spec = runtime_spec(members[0].portable, common, policy)
        runtime = _runtime(name, spec, members)
        runtimes.append(runtime)
        for member in members:
            result[member.at] = _on(runtime, member, common)
    return result, runtimes


def _member(at: int, conversion: Conversion) -> _Member | None:
    """A job with one group of nodes on a runtime of its own."""
    if conversion.rejected or conversion.runtime is None:
        return None
    found = portable(conversion.runtime, conversion.train_job, conversion.options.target)
    if found is None:
        return None
    containers = found.rest["template"]["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"][
        "containers"
    ]
    given = containers[0].pop(PULL_POLICY, "")
    default = default_pull_policy(str(found.entries.get(("image", ""), "")))
    return _Member(at, conversion, found, frozenset({given or default, *([""] if given in ("", default) else [])}))


def _groups(members: Sequence[_Member]) -> Iterator[tuple[str, list[_Member]]]:
    """Members of one shape, apart only where they pull images otherwise; each group with what its runtime says."""
    by_shape: dict[str, list[_Member]] = defaultdict(list)
    for member in members:
        by_shape[member.portable.shape].append(member)
    for alike in by_shape.values():
        by_policy: dict[str, list[_Member]] = defaultdict(list)
        needed = {policy for member in alike if len(member.pull_policies) == 1 for policy in member.pull_policies}
        for member in alike:
            by_policy[min(member.pull_policies & needed, default="")].append(member)
        yield from by_policy.items()


def _runtime(name: str, spec: Json, members: Sequence[_Member]) -> Json:
    first = members[0].conversion
    assert first.runtime is not None
    namespaces = {str(each.conversion.train_job["metadata"].get("namespace") or "") for each in members}
    one = next(iter(namespaces)) if len(namespaces) == 1 else None
    return {
        "apiVersion": TRAINER_API,
        "kind": CLUSTER_RUNTIME if one is None else RUNTIME,
        "metadata": {
            "name": name,
            **({"namespace": one} if one else {}),
            "labels": dict(first.runtime["metadata"]["labels"]),
        },
        "spec": spec,
    }


def _on(runtime: Json, member: _Member, common: dict[Any, Any]) -> Conversion:
    """The job on this runtime."""
    conversion = member.conversion
    own = {entry: value for entry, value in member.portable.entries.items() if entry not in common}
    reference = {"kind": runtime["kind"], "name": runtime["metadata"]["name"]}
    spec = dict(conversion.train_job["spec"])
    spec["trainer"] = {"numNodes": member.portable.nodes, **(spec.get("trainer") or {})}
    changed = train_job_spec(member.portable, own, spec, reference)
    train_job = {**conversion.train_job, "spec": changed}
    return replace(conversion, train_job=train_job, runtime=runtime, runtime_is_shared=True)


def _traits(member: _Member, policy: str) -> str:
    """A name that says what the runtime is for."""
    assert member.conversion.runtime is not None
    framework = str(member.conversion.runtime["metadata"]["labels"][FRAMEWORK])
    words = [
        _FRAMEWORK.get(framework, framework),
        *_differences(member.portable.rest),
        *([f"pull-{policy}"] if policy else []),
    ]
    text = re.sub(r"(?<=[a-z])(?=[A-Z])", "-", "-".join(words)).lower()
    name = re.sub(r"[^a-z0-9]+", "-", text).strip("-")
    return name if len(name) <= LONGEST else name[:LONGEST].rpartition("-")[0]


def _differences(spec: Json) -> Iterator[str]:
    """What sets a runtime apart from one whose pods start again without limit and have nothing else."""
    job_set = spec["template"]["spec"]
    job = job_set["replicatedJobs"][0]["template"]["spec"]
    pod = job["template"]["spec"]
    if "podFailurePolicy" in job:
        yield "exit-codes"
    elif pod.get("restartPolicy") == "Never" and job.get("backoffLimit") == 0:
        yield "restarted-together" if "failurePolicy" in job_set else "no-restart"
    if (limit := job.get("backoffLimit")) not in (0, UNLIMITED):
        yield f"{limit}-restarts"
    if "successPolicy" in job:
        yield "first-decides" if "succeededIndexes" in job["successPolicy"]["rules"][0] else "any-decides"
    if "ttlSecondsAfterFinished" in job_set:
        yield "expires"
    if "activeDeadlineSeconds" in job:
        yield "deadline"
    if scheduler := pod.get("schedulerName"):
        yield f"on-{scheduler}"
    elif "podGroupPolicy" in spec:
        yield "gang"
    for field in ("hostNetwork", "hostIPC", "hostPID"):
        if pod.get(field):
            yield {"hostNetwork": "host-network", "hostIPC": "host-ipc", "hostPID": "host-pid"}[field]
    yield from (str(pod[field]) for field in ("priorityClassName", "runtimeClassName") if pod.get(field))
    yield from (f"after-{each['name']}" for each in (pod.get("initContainers") or ())[:1])
    yield from (f"with-{each['name']}" for each in pod["containers"][1:])
    if folder := pod["containers"][0].get("workingDir"):
        yield f"in-{folder}"


def _names(wanted: Sequence[tuple[str, str]]) -> list[str]:
    """The names, with a part of the shape's hash where two are alike."""
    texts = [name for name, _ in wanted]
    return [
        name if texts.count(name) == 1 else f"{name}-{hashlib.sha256(shape.encode()).hexdigest()[:4]}"
        for name, shape in wanted
    ]
