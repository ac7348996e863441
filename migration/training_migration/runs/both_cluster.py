"""One job on either side of clusters that the user names: v1's operator in one namespace, Trainer v2 in another."""

from __future__ import annotations

import secrets
from typing import Any

from training_migration.runs.cluster import ClusterOptions, ClusterSide, Log
from training_migration.runs.record import Ref, Side
from training_migration.runs.recording import Seen
from training_migration.runs.sides import V2Side, clean_pod_policy, containers_of, ref_of
from training_migration.runs.what import Plan, What
from training_migration.v1_job import V1Job

Json = dict[str, Any]


def new_run() -> str:
    """A name for what one run creates."""
    return secrets.token_hex(4)


async def cluster_both(plan: Plan, what: What, v1: ClusterOptions, v2: ClusterOptions, log: Log) -> list[Seen]:
    """Run the sides that there are, one after the other; raises Failure where a cluster cannot."""
    plan.check()
    seen = []
    if plan.v1:
        seen.append(await _v1(plan, plan.v1, what, v1, log))
    if plan.v2:
        seen.append(await _v2(plan, plan.v2, what, v2, log))
    return seen


async def _v1(plan: Plan, job: V1Job, what: What, options: ClusterOptions, log: Log) -> Seen:
    """Run a v1 job by the operator that works there."""
    side = ClusterSide(Side.V1, _there(ref_of(job), options), containers_of(job), options, log)
    side.seen.witnessed = what.reports_ranks
    side.seen.clean_pod_policy = clean_pod_policy(job)
    return await side.run(plan.v1_objects(what))


async def _v2(plan: Plan, side: V2Side, what: What, options: ClusterOptions, log: Log) -> Seen:
    """Run a TrainJob by the controllers that work there, on a runtime of its own."""
    *others, runtime, train_job = plan.v2_objects(what)
    # Of the cluster's own runtimes nothing is changed: this run has a copy.
    runtime["kind"] = "TrainingRuntime"
    runtime["metadata"]["name"] = f"{runtime['metadata']['name'][:50]}-{options.run}"
    train_job["spec"]["runtimeRef"] = {"kind": runtime["kind"], "name": runtime["metadata"]["name"]}
    run = ClusterSide(Side.V2, _there(side.ref, options), plan.v2_containers(), options, log)
    run.seen.witnessed = what.reports_ranks
    return await run.run([*others, runtime, train_job])


def _there(ref: Ref, options: ClusterOptions) -> Ref:
    return Ref(kind=ref.kind, namespace=options.namespace, name=ref.name, source=ref.source)
