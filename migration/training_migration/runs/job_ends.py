"""When a Job and a JobSet have ended, by what their pods have done: as much of batch/v1 and JobSet as one run needs.

Pure. Left out are limits per index (`backoffLimitPerIndex`), rules of JobSet's failure policy and elastic Jobs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

Json = dict[str, Any]

BACKOFF_LIMIT: Final = 6
"""Of a Job that names none (batch/v1)."""


class State(StrEnum):
    """How far a Job or JobSet is."""

    ACTIVE = "Active"
    COMPLETE = "Complete"
    FAILED = "Failed"


@dataclass(frozen=True, slots=True)
class PodSeen:
    """One pod of a Job as in its status."""

    index: int
    phase: str
    restarts: int = 0
    """Of its containers, together."""
    exit_codes: Mapping[str, int] = frozenset()  # type: ignore[assignment] # an empty mapping that is immutable
    """Container -> how it ended, where it has."""
    ready: bool = False
    conditions: frozenset[tuple[str, str]] = frozenset()
    """Type and status of each condition."""


@dataclass(frozen=True, slots=True)
class JobEnd:
    """What a Job's controller makes of its pods."""

    state: State
    reason: str = ""
    message: str = ""
    missing: tuple[int, ...] = ()
    """Indexes that need a pod."""


@dataclass(frozen=True, slots=True)
class SetEnd:
    """What JobSet's controller makes of its Jobs."""

    state: State
    reason: str = ""
    message: str = ""
    start: tuple[str, ...] = ()
    """Replicated jobs whose turn it is."""
    again: bool = False
    """Whether all Jobs are to be re-created."""


def job_end(spec: Json, pods: Sequence[PodSeen]) -> JobEnd:
    """How an indexed Job ends (batch/v1 JobSpec) by all pods that it has had, the failed ones included."""
    completions = int(spec.get("completions") or spec.get("parallelism") or 1)
    done = {pod.index for pod in pods if pod.phase == "Succeeded"}
    actions = [(pod, _rule_of(spec, pod)) for pod in pods if pod.phase == "Failed"]
    for pod, action in actions:
        if action == "FailJob":
            return JobEnd(State.FAILED, "PodFailurePolicy", f"index {pod.index} failed: {_codes(pod)}")
    if _suffices(spec, done):
        return JobEnd(State.COMPLETE, "SuccessPolicy")
    if done >= set(range(completions)):
        return JobEnd(State.COMPLETE, "CompletionsReached")
    counted = sum(action != "Ignore" for _, action in actions)
    if _exhausted(spec, counted, pods):
        return JobEnd(State.FAILED, "BackoffLimitExceeded", "Job has reached the specified backoff limit")
    present = done | {pod.index for pod in pods if pod.phase not in ("Succeeded", "Failed")}
    return JobEnd(State.ACTIVE, missing=tuple(sorted(set(range(completions)) - present)))


def _exhausted(spec: Json, failed: int, pods: Sequence[PodSeen]) -> bool:
    given = spec.get("backoffLimit")
    limit = BACKOFF_LIMIT if given is None else int(given)
    if failed > limit:
        return True
    if (spec["template"]["spec"].get("restartPolicy") or "OnFailure") != "OnFailure":
        return False
    restarts = sum(pod.restarts for pod in pods if pod.phase in ("Pending", "Running"))
    return restarts > 0 if limit == 0 else restarts >= limit


def _suffices(spec: Json, done: set[int]) -> bool:
    for rule in (spec.get("successPolicy") or {}).get("rules") or ():
        wanted, count = rule.get("succeededIndexes"), rule.get("succeededCount")
        among = done if wanted is None else done & _indexes(wanted)
        needed = len(_indexes(wanted)) if count is None else int(count)
        if needed and len(among) >= needed:
            return True
    return False


def _indexes(text: str | None) -> set[int]:
    found: set[int] = set()
    for part in (text or "").split(","):
        first, _, last = part.strip().partition("-")
        if first:
            found |= set(range(int(first), int(last or first) + 1))
    return found


def _rule_of(spec: Json, pod: PodSeen) -> str:
    """The action of the first rule of the pod failure policy that matches; empty if none does."""
    for rule in (spec.get("podFailurePolicy") or {}).get("rules") or ():
        if codes := rule.get("onExitCodes"):
            named = codes.get("containerName")
            ends = {name: code for name, code in dict(pod.exit_codes).items() if code and named in (None, name)}
            values = set(codes["values"])
            if any((code in values) == (codes["operator"] == "In") for code in ends.values()):
                return str(rule["action"])
        wanted = {(each["type"], each.get("status") or "True") for each in rule.get("onPodConditions") or ()}
        if wanted & pod.conditions:
            return str(rule["action"])
    return ""


def _codes(pod: PodSeen) -> str:
    ends = sorted(dict(pod.exit_codes).items())
    return ", ".join(f"container {name} exited with code {code}" for name, code in ends) or "no container has ended"


def set_end(spec: Json, jobs: Mapping[str, JobEnd], ready: Mapping[str, bool], restarts: int) -> SetEnd:
    """How a JobSet ends (v1alpha2 JobSetSpec) by its Jobs, by replicated job, but for those not started yet.

    `ready` says of each replicated job whether all its pods are ready or have succeeded, `restarts` how often all Jobs
    have been re-created.
    """
    for name, job in jobs.items():
        if job.state is State.FAILED:
            limit = (spec.get("failurePolicy") or {}).get("maxRestarts") or 0
            if restarts < limit:
                return SetEnd(State.ACTIVE, again=True)
            reason = "ReachedMaxRestarts" if limit else "FailedJobs"
            return SetEnd(State.FAILED, reason, f"first failed job: {name}: {job.reason}: {job.message}")
    names = [each["name"] for each in spec["replicatedJobs"]]
    policy = spec.get("successPolicy") or {}
    counts = Counter(
        name in jobs and jobs[name].state is State.COMPLETE for name in policy.get("targetReplicatedJobs") or names
    )
    if counts[True] and (not counts[False] or policy.get("operator") == "Any"):
        return SetEnd(State.COMPLETE, "AllJobsCompleted", "jobset completed successfully")
    start = [
        each["name"]
        for each in spec["replicatedJobs"]
        if each["name"] not in jobs and all(_met(need, jobs, ready) for need in each.get("dependsOn") or ())
    ]
    return SetEnd(State.ACTIVE, start=tuple(start))


def _met(need: Json, jobs: Mapping[str, JobEnd], ready: Mapping[str, bool]) -> bool:
    name = need["name"]
    complete = name in jobs and jobs[name].state is State.COMPLETE
    return complete or (need["status"] == "Ready" and ready.get(name, False))
