"""All that v2's controllers make of a TrainJob."""

from __future__ import annotations

from typing import Any, Final

from training_migration.rendering import RenderedPod, Rendering
from training_migration.shape import without_nulls
from training_migration.targets import Target
from training_migration.v2 import admission, blocks
from training_migration.v2.claims import claims
from training_migration.v2.denied import NotPredicted
from training_migration.v2.draft import Draft
from training_migration.v2.jobs import jobs, service
from training_migration.v2.jobset import admitted, submitted
from training_migration.v2.pods import pods
from training_migration.v2.policies import POLICIES
from training_migration.v2.snapshot import snapshot
from training_migration.v2.template import draft
from training_migration.v2.trainer import set_blocks

Json = dict[str, Any]

MOST_PODS: Final = 10_000
"""Of one TrainJob: each is built, so more would take minutes and gigabytes."""


def render_v2(
    train_job: Json, runtime: Json, target: Target, *, fixed_keys: bool = True, with_snapshot: bool = True
) -> Rendering:
    """Predict the objects and pods of a TrainJob, as if it were not suspended and all its Jobs had been let begin.

    `runtime` is the one that it refers to. With `fixed_keys` the keys of MPI are always the same for the same name:
    good for comparing, never for running where others could log in. The snapshot of the runtime costs as much as all
    the rest, so that it is made only where it is shown. Raises Denied for what admission would reject.
    """
    work, beside, jobset = _jobset(train_job, runtime, target, fixed_keys=fixed_keys)
    made = list(jobs(jobset, work.features))
    kept = snapshot(work) if with_snapshot else None
    objects = [kept, *beside, jobset, service(jobset), *claims(jobset), *(job for _, _, job in made)]
    rendered: list[RenderedPod] = [pod for each in made for pod in pods(*each)]
    return Rendering(tuple(each for each in objects if each is not None), tuple(rendered))


def check_v2(train_job: Json, runtime: Json, target: Target) -> None:
    """Raise what `render_v2` raises, without its Jobs and pods."""
    _jobset(train_job, runtime, target)


def _jobset(
    train_job: Json, runtime: Json, target: Target, *, fixed_keys: bool = True
) -> tuple[Draft, list[Json], Json]:
    """What was done, the objects of the policies, and the JobSet."""
    train_job, runtime = without_nulls(train_job), without_nulls(runtime)
    admission.check(train_job, runtime, target)
    work = draft(train_job, runtime, target, fixed_keys=fixed_keys)
    _check_size(work)
    blocks.check(work)
    policies = [each for each in POLICIES if each.applies(work)]
    for policy in policies:
        policy.check(work)
    for policy in policies:
        policy.enforce(work)
    set_blocks(work)
    beside = [each for policy in policies for each in policy.objects(work)]
    return work, beside, admitted(submitted(work))


def _check_size(work: Draft) -> None:
    nodes = (work.trainer or {}).get("numNodes") or 0
    pods = sum(max(role.count, nodes) * role.replicated_job.get("replicas", 1) for role in work.roles)
    if pods > MOST_PODS:
        raise NotPredicted(
            "spec.trainer.numNodes" if nodes else "spec", f"more than {MOST_PODS} pods are not predicted"
        )
