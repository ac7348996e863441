"""A plan written as objects of v2: the runtime with everything of the job in it, and a thin TrainJob."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Final

from training_api.constants import EXTENSION_PREFIX
from training_migration.convert import gang as gangs
from training_migration.convert import run_policy
from training_migration.convert.context import Context, Json
from training_migration.convert.lifecycle import failure_policy
from training_migration.convert.plan import Group, Plan
from training_migration.findings import Finding, Severity
from training_migration.masking import LAST_APPLIED
from training_migration.v2.names import ANCESTOR, FRAMEWORK, TRAINER, TRAINER_API

LOSSES: Final = EXTENSION_PREFIX + "migration-losses"
"""Annotation of a TrainJob: the ids of the rules about what was lost, as a JSON list."""


def runtime(context: Context, plan: Plan) -> Json:
    """The TrainingRuntime of this job alone."""
    placed = gangs.gang(context)
    groups = [gangs.placed(context, group, placed.scheduler) for group in plan.groups]
    job_set: Json = {
        **({"network": plan.network} if plan.network else {}),
        **({"successPolicy": _success(plan.succeeds_with)} if plan.succeeds_with else {}),
        **failure_policy(context),
        **run_policy.job_set_fields(context),
        "replicatedJobs": [_replicated_job(context, group) for group in groups],
    }
    template = {**({"metadata": {"annotations": placed.annotations}} if placed.annotations else {}), "spec": job_set}
    return {
        "apiVersion": TRAINER_API,
        "kind": "TrainingRuntime",
        "metadata": {
            "name": f"{context.name}-v1",
            **_namespace(context),
            "labels": {FRAMEWORK: plan.framework},
        },
        "spec": {
            **({"mlPolicy": plan.policy} if plan.policy is not None else {}),
            **({"podGroupPolicy": placed.policy} if placed.policy is not None else {}),
            "template": template,
        },
    }


def train_job(context: Context, plan: Plan) -> Json:
    """The TrainJob that refers to that runtime."""
    metadata = context.job.job.metadata
    annotations = {key: value for key, value in metadata.annotations.items() if _is_kept(key)}
    return {
        "apiVersion": TRAINER_API,
        "kind": "TrainJob",
        "metadata": {
            "name": context.name,
            **_namespace(context),
            **({"labels": dict(metadata.labels)} if metadata.labels else {}),
            **({"annotations": annotations} if annotations else {}),
        },
        "spec": {
            "runtimeRef": {"kind": "TrainingRuntime", "name": f"{context.name}-v1"},
            **run_policy.train_job_fields(context),
            **({"trainer": plan.trainer} if plan.trainer is not None else {}),
        },
    }


def with_losses(job: Json, findings: Iterable[Finding]) -> Json:
    """The TrainJob with the list of what was lost, for those who meet it in a cluster."""
    lost = sorted({each.rule.id for each in findings if not each.fixed and each.level is not Severity.INFO})
    if not lost:
        return job
    metadata = dict(job["metadata"])
    metadata["annotations"] = {**metadata.get("annotations", {}), LOSSES: json.dumps(lost)}
    return {**job, "metadata": metadata}


def _is_kept(annotation: str) -> bool:
    return annotation != LAST_APPLIED and not annotation.startswith(EXTENSION_PREFIX)


def _namespace(context: Context) -> Json:
    return {"namespace": context.namespace} if context.namespace else {}


def _success(groups: Sequence[str]) -> Json:
    return {"operator": "All", "targetReplicatedJobs": list(groups)}


def _replicated_job(context: Context, group: Group) -> Json:
    pods = group.count if group.in_one_job else 1
    counts = {} if group.trains else {"parallelism": pods, "completions": pods}
    labels = {"metadata": {"labels": {ANCESTOR: TRAINER}}} if group.trains else {}
    return {
        "name": group.name,
        **({} if group.in_one_job else {"replicas": group.count}),
        **({"dependsOn": [{"name": group.after, "status": "Ready"}]} if group.after else {}),
        "template": {
            **labels,
            "spec": {**counts, **run_policy.job_fields(context), **group.job, "template": group.template},
        },
    }
