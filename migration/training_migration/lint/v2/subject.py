"""Runtimes and TrainJobs as rules look at them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from training_migration.convert.launchers import Launcher, launcher_of
from training_migration.lint.checks import Checks
from training_migration.lint.entry_point import NOTHING, EntryPoint
from training_migration.lint.pods import Template
from training_migration.lint.variables import FIXED_PORT
from training_migration.targets import FEATURES, Features, Target
from training_migration.v2.names import ANCESTOR, CONTAINER_OF, NODE, TRAINER

Json = Mapping[str, Any]
PLAIN: Final = "plain"
_SETTINGS: Final = frozenset({"numNodes"})


@dataclass(frozen=True, slots=True)
class Replicated(Template):
    """One replicated job of a runtime."""

    path: str
    content: Json

    @property
    def name(self) -> str:
        """Its name."""
        return str(self.content.get("name", ""))

    @property
    def job(self) -> Json:
        """The spec of its Job."""
        return (self.content.get("template") or {}).get("spec") or {}

    @property
    def step(self) -> str:
        """The step of the training that it is tied to; empty for none."""
        metadata = (self.content.get("template") or {}).get("metadata") or {}
        return str((metadata.get("labels") or {}).get(ANCESTOR, ""))

    @property
    def pod(self) -> Json:
        """The spec of its pods."""
        return (self.job.get("template") or {}).get("spec") or {}

    @property
    def pod_path(self) -> str:
        """Where that is."""
        return f"{self.path}.template.spec.template.spec"

    @property
    def main(self) -> str:
        """Name of the container that a TrainJob changes, or that trains."""
        return CONTAINER_OF.get(self.step, NODE)


@dataclass(frozen=True)
class Runtime:
    """A runtime and the release that reads it."""

    object: Json
    target: Target

    @property
    def spec(self) -> Json:
        """Its spec."""
        return self.object.get("spec") or {}

    @property
    def features(self) -> Features:
        """What the release has."""
        return FEATURES[self.target]

    @property
    def ml_policy(self) -> Json | None:
        """The policy with its number of nodes; None where there is none."""
        return self.spec.get("mlPolicy")

    @property
    def policy(self) -> str:
        """The name of the policy."""
        return next((name for name in self.ml_policy or () if name not in _SETTINGS), PLAIN)

    @property
    def settings(self) -> Json:
        """Of the policy."""
        return (self.ml_policy or {}).get(self.policy) or {}

    @property
    def job_set(self) -> Json:
        """The spec of the JobSet."""
        return (self.spec.get("template") or {}).get("spec") or {}

    @cached_property
    def replicated(self) -> tuple[Replicated, ...]:
        """Its replicated jobs."""
        jobs = enumerate(self.job_set.get("replicatedJobs") or ())
        return tuple(Replicated(f"spec.template.spec.replicatedJobs[{at}]", each) for at, each in jobs)

    @property
    def trainer(self) -> Replicated | None:
        """The first replicated job that a TrainJob's `trainer` is for."""
        return next((each for each in self.replicated if each.step == TRAINER), None)

    @property
    def templates(self) -> Sequence[Replicated]:
        """Those of all replicated jobs."""
        return self.replicated

    @property
    def training(self) -> Sequence[Replicated]:
        """The template that the policy changes."""
        return () if self.trainer is None else (self.trainer,)

    @property
    def fixed_port(self) -> bool:
        """Whether the policy has a port that cannot be chosen."""
        return self.policy in FIXED_PORT

    @property
    def nodes(self) -> Replicated | None:
        """The replicated job whose pods train: with mpi the one called `node`."""
        named = next((each for each in self.replicated if each.name == NODE), None)
        return named if self.policy == "mpi" and named is not None else self.trainer


@dataclass(frozen=True)
class TrainJob:
    """A TrainJob with its runtime."""

    object: Json
    target: Target
    runtime: Runtime | None
    """None where it is not known."""
    scripts: Sequence[tuple[str, str]] = ()
    """Path and text of the scripts that it may run."""
    entry: EntryPoint = NOTHING
    """What its image starts."""

    @property
    def spec(self) -> Json:
        """Its spec."""
        return self.object.get("spec") or {}

    @property
    def name(self) -> str:
        """Its name."""
        return str((self.object.get("metadata") or {}).get("name", ""))

    @property
    def features(self) -> Features:
        """What the release has."""
        return FEATURES[self.target]

    @property
    def trainer(self) -> Json:
        """The block `trainer`."""
        return self.spec.get("trainer") or {}

    @property
    def policy(self) -> str:
        """Of its runtime; empty where that is not known."""
        return self.runtime.policy if self.runtime else ""

    @cached_property
    def container(self) -> Json:
        """The container that its `trainer` is for, as it will be: command, arguments, variables, resources."""
        job = self.runtime.trainer if self.runtime else None
        template = job.container if job is not None else {}
        env = {each.get("name"): each for each in (*(template.get("env") or ()), *(self.trainer.get("env") or ()))}
        changed = {key: self.trainer[key] for key in ("image", "command", "args") if self.trainer.get(key)}
        return {**template, **changed, "env": list(env.values())}

    @property
    def command_path(self) -> str:
        """Where the command line is, as far as the TrainJob gives it."""
        return next((f"spec.trainer.{key}" for key in ("args", "command") if self.trainer.get(key)), "spec.trainer")

    @property
    def node(self) -> Json:
        """The container that trains, with the resources of the TrainJob."""
        job = self.runtime.nodes if self.runtime else None
        container = job.container if job is not None else {}
        given = self.trainer.get("resourcesPerNode")
        if not given or self.runtime is None or self.runtime.ml_policy is None:
            return container
        before = container.get("resources") or {}
        merged = {key: {**(before.get(key) or {}), **(given.get(key) or {})} for key in ("limits", "requests")}
        return {**container, "resources": merged}

    @property
    def num_nodes(self) -> int:
        """How many nodes it has."""
        of_runtime = (self.runtime.ml_policy or {}).get("numNodes") if self.runtime else None
        number = self.trainer.get("numNodes", of_runtime)
        return number if isinstance(number, int) else 1

    @cached_property
    def launcher(self) -> Launcher:
        """What starts the training."""
        command, args = self.entry.of(self.container)
        return launcher_of(command, args, self.scripts)


RUNTIMES: Final[Checks[Runtime]] = Checks()
TRAIN_JOBS: Final[Checks[TrainJob]] = Checks()
"""The checks; modules next to this one fill them."""
