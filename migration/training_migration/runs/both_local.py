"""One job on either side of this machine's embedded cluster, with a witness or as a test of its wiring."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from training_local.apply import BadInput
from training_local.commands.finish import innermost
from training_migration.exits import Exit, Failure
from training_migration.rendering import Rendering
from training_migration.runs.local import LocalOptions, LocalSide, Tell
from training_migration.runs.probe import ProbePlan, with_probe
from training_migration.runs.record import Side
from training_migration.runs.recording import Seen
from training_migration.runs.sides import V2Side, containers_of, hosts_of, namespace_of, ref_of
from training_migration.runs.templates import changed, runnable
from training_migration.runs.witness import with_witness
from training_migration.targets import Target
from training_migration.v1_job import V1Job
from training_migration.v2.refusal import Refusal
from training_migration.v2.render import render_v2

Json = dict[str, Any]

_OF_A_CLUSTER: Final = (
    "nodeSelector",
    "affinity",
    "topologySpreadConstraints",
    "priorityClassName",
    "schedulerName",
)
"""Fields of a pod that choose among machines; there is one only."""


@dataclass(frozen=True, slots=True)
class What:
    """How both sides are run."""

    others: Sequence[Json]
    """What the pods need."""
    options: LocalOptions
    probed: tuple[str, ...] = ()
    """Test the wiring instead of training: what ranks are read from, as `inside.probe.READERS` calls it."""
    seconds: float = 60.0
    """How long pods wait for each other in a test."""

    @property
    def tells(self) -> bool:
        """Whether processes tell their ranks."""
        return self.options.witnessed or bool(self.probed)

    def prepared(self, objects: Sequence[Json], hosts: Sequence[str], containers: dict[str, str]) -> list[Json]:
        """The objects, changed as this run needs them."""
        made = changed(runnable(objects), _fit)
        if self.probed:
            return with_probe(made, ProbePlan(self.probed, tuple(hosts), self.seconds), containers)
        return with_witness(made, namespace_of(objects[-1])) if self.options.witnessed else made


def _fit(_role: str, template: Json) -> None:
    for field in _OF_A_CLUSTER:
        template["spec"].pop(field, None)


async def local_v1(job: V1Job, what: What, tell: Tell) -> Seen:
    """Run a v1 job by its operator."""
    containers = containers_of(job)
    *others, made = what.prepared([*what.others, job.object], hosts_of(job), containers)
    made["metadata"].setdefault("namespace", namespace_of(job.object))
    side = LocalSide(Side.V1, ref_of(job), containers, what.options, tell)
    policy = (job.object["spec"].get("runPolicy") or {}).get("cleanPodPolicy")
    side.seen.clean_pod_policy = policy or ""
    side.seen.witnessed = what.tells
    return await side.run_v1(made, others)


async def local_v2(side: V2Side, target: Target, what: What, tell: Tell) -> Seen:
    """Run the pods that v2's controllers would make of a TrainJob."""
    predicted = rendered(side.train_job, side.runtime, target)
    containers = {pod.role: pod.container for pod in predicted.pods}
    hosts = [pod.hostname for pod in predicted.pods]
    *others, runtime, train_job = what.prepared([*what.others, side.runtime, side.train_job], hosts, containers)
    run = LocalSide(Side.V2, side.ref, containers, what.options, tell)
    run.seen.witnessed = what.tells
    deadline = train_job["spec"].get("activeDeadlineSeconds")
    return await run.run_v2(rendered(train_job, runtime, target), others, deadline)


async def local_both(v1: V1Job | None, v2: V2Side | None, target: Target, what: What, tell: Tell) -> list[Seen]:
    """Run the sides that there are, one after the other; raises Failure where this machine or v2 cannot."""
    if v2:
        rendered(v2.train_job, v2.runtime, target)  # refused before anything runs
    seen = []
    try:
        if v1:
            seen.append(await local_v1(v1, what, tell))
        if v2:
            seen.append(await local_v2(v2, target, what, tell))
    except* BadInput as group:
        raise Failure(f"{innermost(group)}.", Exit.ENVIRONMENT) from None
    return seen


def rendered(train_job: Json, runtime: Json, target: Target) -> Rendering:
    """The prediction, with fresh keys; raises Failure for what v2 would refuse."""
    try:
        return render_v2(train_job, runtime, target, fixed_keys=False)
    except Refusal as refusal:
        raise Failure(f"v2 would refuse the TrainJob: {refusal}", Exit.REFUSED) from None
