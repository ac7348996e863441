"""What the pods of a run do: train with a witness, train without, or test their wiring."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from training_migration.exits import Exit, Failure
from training_migration.rendering import Rendering
from training_migration.runs.probe import ProbePlan, with_probe
from training_migration.runs.sides import V2Side, containers_of, hosts_of
from training_migration.runs.templates import runnable
from training_migration.runs.witness import with_witness
from training_migration.targets import Target
from training_migration.v1_job import V1Job
from training_migration.v2.denied import Denied
from training_migration.v2.lookup import namespace_of
from training_migration.v2.render import render_v2

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class What:
    """What the pods of both sides do."""

    witnessed: bool = True
    """Whether Python programs report their ranks."""
    probed: tuple[str, ...] = ()
    """Test the wiring instead of training: what ranks are read from, as `inside.probe.READERS` calls it."""
    seconds: float = 60.0
    """How long pods wait for each other in a test."""

    @property
    def reports_ranks(self) -> bool:
        """Whether processes report their ranks."""
        return self.witnessed or bool(self.probed)

    def prepared(self, objects: Sequence[Json], hosts: Sequence[str], containers: Mapping[str, str]) -> list[Json]:
        """Copies of the objects of one side, changed accordingly; its job is the last.

        `hosts` are the names under which its pods should be found, `containers` those that train, by role.
        """
        made = runnable(objects)
        if self.probed:
            return with_probe(made, ProbePlan(self.probed, tuple(hosts), self.seconds), containers)
        return with_witness(made, namespace_of(objects[-1])) if self.witnessed else made


@dataclass(frozen=True, slots=True)
class Plan:
    """The sides that are run, and what the pods of both need."""

    v1: V1Job | None
    v2: V2Side | None
    target: Target
    others: tuple[Json, ...] = ()

    def check(self) -> None:
        """Raise Failure for what v2 would reject, before anything runs."""
        if self.v2:
            rendered(self.v2.train_job, self.v2.runtime, self.target)

    def v1_objects(self, what: What) -> list[Json]:
        """All objects of v1's side as they are to be created, the job last."""
        assert self.v1 is not None
        made = what.prepared([*self.others, self.v1.object], hosts_of(self.v1), containers_of(self.v1))
        made[-1]["metadata"].setdefault("namespace", namespace_of(self.v1.object))
        return made

    def v2_objects(self, what: What) -> list[Json]:
        """All objects of v2's side as they are to be created, its runtime and the TrainJob last."""
        assert self.v2 is not None
        objects = [*self.others, *self.v2.others, self.v2.runtime, self.v2.train_job]
        pods = rendered(self.v2.train_job, self.v2.runtime, self.target).pods
        hosts = [] if what.probed == ("MPI",) else [pod.hostname for pod in pods]
        return what.prepared(objects, hosts, self.v2_containers())

    def v2_containers(self) -> dict[str, str]:
        """Role -> name of the container that trains, on v2."""
        assert self.v2 is not None
        pods = rendered(self.v2.train_job, self.v2.runtime, self.target).pods
        return {pod.role: pod.container for pod in pods}


def rendered(train_job: Json, runtime: Json, target: Target) -> Rendering:
    """The prediction, with fresh keys; raises Failure for what v2 would reject."""
    try:
        return render_v2(train_job, runtime, target, fixed_keys=False)
    except Denied as denied:
        raise Failure(f"v2 would reject the TrainJob: {denied}", Exit.REJECTED) from None
