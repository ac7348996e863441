"""One job on either side of this machine's embedded cluster."""

from __future__ import annotations

from typing import Any, Final

from training_local.errors import BadInput, innermost
from training_migration.exits import Exit, Failure
from training_migration.runs.local import LocalOptions, LocalSide, Log
from training_migration.runs.record import Side
from training_migration.runs.recording import Seen
from training_migration.runs.sides import V2Side, clean_pod_policy, containers_of, ref_of
from training_migration.runs.templates import changed
from training_migration.runs.what import Plan, What, rendered
from training_migration.v1_job import V1Job

Json = dict[str, Any]

_OF_A_CLUSTER: Final = ("nodeSelector", "affinity", "topologySpreadConstraints", "priorityClassName", "schedulerName")
"""Fields of a pod that choose among machines, or who chooses; there is one machine."""


async def local_both(plan: Plan, what: What, options: LocalOptions, log: Log) -> list[Seen]:
    """Run the sides that there are, one after the other; raises Failure where this machine or v2 cannot."""
    plan.check()
    seen = []
    try:
        if plan.v1:
            seen.append(await _v1(plan, plan.v1, what, options, log))
        if plan.v2:
            seen.append(await _v2(plan, plan.v2, what, options, log))
    except* BadInput as group:
        raise Failure(f"{innermost(group)}.", Exit.ENVIRONMENT) from None
    return seen


async def _v1(plan: Plan, job: V1Job, what: What, options: LocalOptions, log: Log) -> Seen:
    """Run a v1 job by its operator."""
    *others, made = changed(plan.v1_objects(what), _fit)
    side = LocalSide(Side.V1, ref_of(job), containers_of(job), options, log)
    side.seen.clean_pod_policy = clean_pod_policy(job)
    side.seen.witnessed = what.reports_ranks
    return await side.run_v1(made, others)


async def _v2(plan: Plan, side: V2Side, what: What, options: LocalOptions, log: Log) -> Seen:
    """Run the pods that v2's controllers would make of a TrainJob."""
    *others, runtime, train_job = changed(plan.v2_objects(what), _fit)
    run = LocalSide(Side.V2, side.ref, plan.v2_containers(), options, log)
    run.seen.witnessed = what.reports_ranks
    rendering = rendered(train_job, runtime, plan.target)
    return await run.run_v2(rendering, others, train_job["spec"].get("activeDeadlineSeconds"))


def _fit(_role: str, template: Json) -> None:
    spec = template["spec"]
    for field in _OF_A_CLUSTER:
        spec.pop(field, None)
