"""What JobSet and the Job controller decide (their API references: policies of success, failure and pod failure)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from training_controllers.model.index_ranges import parse_ranges
from training_migration.convert.lifecycle import DEFAULT_LIMIT, UNLIMITED
from training_migration.diff.endings import FailureAction, Reaction, Success
from training_migration.diff.pairing import Place
from training_migration.diff.side import RenderedSide

Json = dict[str, Any]


def jobset(side: RenderedSide) -> Json:
    """Spec of the JobSet; empty where there is none."""
    return next((each["spec"] for each in side.objects("JobSet")), {})


def job_of(side: RenderedSide, role: str) -> Json:
    """Spec of the Job of a replicated job."""
    replicated = jobset(side).get("replicatedJobs") or ()
    return next((each["template"]["spec"] for each in replicated if each["name"] == role), {})


def success(side: RenderedSide, numbers: Mapping[Place, int]) -> Success:
    """The pods whose success is the job's."""
    policy = jobset(side).get("successPolicy") or {}
    roles = policy.get("targetReplicatedJobs") or list(dict.fromkeys(place.role for place in numbers))
    parts = [_of_job(job_of(side, role), [place for place in numbers if place.role == role]) for role in roles]
    places = [place for part, _ in parts for place in part]
    any_of_them = (policy.get("operator") == "Any" and len(parts) > 1) or any(part_any for _, part_any in parts)
    return Success(frozenset(numbers[place] for place in places), any_of_them and len(places) > 1)


def _of_job(job: Json, members: list[Place]) -> tuple[list[Place], bool]:
    """The pods that decide on a Job, and whether one of them is enough."""
    rules = (job.get("successPolicy") or {}).get("rules") or ()
    if not rules:
        return members, False
    indexes = rules[0].get("succeededIndexes")
    chosen = members if indexes is None else [each for each in members if each.index in parse_ranges(indexes)]
    return chosen, rules[0].get("succeededCount") == 1 and len(chosen) > 1


def reaction(side: RenderedSide, role: str, container: str, exit_code: int) -> Reaction:
    """To the end of a container with an error."""
    job = job_of(side, role)
    found = _of_pod(job, container, exit_code)
    again = (jobset(side).get("failurePolicy") or {}).get("maxRestarts") or 0
    if again and found.effective[0] is FailureAction.FAILS:
        return Reaction(FailureAction.RESTARTS_ALL, again)
    return found


def _of_pod(job: Json, container: str, exit_code: int) -> Reaction:
    limit = job.get("backoffLimit", DEFAULT_LIMIT)
    restarts = Reaction(FailureAction.RESTARTS, None if limit == UNLIMITED else limit, in_place=_in_place(job))
    for rule in (job.get("podFailurePolicy") or {}).get("rules") or ():
        if _applies(rule.get("onExitCodes"), container, exit_code):
            match rule.get("action"):
                case "FailJob":
                    return Reaction(FailureAction.FAILS)
                case "Ignore":
                    return Reaction(FailureAction.RESTARTS)
            return restarts
    return restarts if restarts.limit != 0 else Reaction(FailureAction.FAILS)


def _in_place(job: Json) -> bool:
    spec = (job.get("template") or {}).get("spec") or {}
    return (spec.get("restartPolicy") or "OnFailure") == "OnFailure"


def _applies(codes: Json | None, container: str, exit_code: int) -> bool:
    if codes is None or codes.get("containerName", container) != container:
        return False
    named: bool = exit_code in codes["values"]
    return named if codes["operator"] == "In" else not named
