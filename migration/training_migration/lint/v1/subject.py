"""A job of v1 as rules look at it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from training_api.kinds import Job, KindInfo
from training_api.models.common import ReplicaSpec, RunPolicy
from training_migration.convert.conversion import Options
from training_migration.convert.launchers import Launcher, launcher_of
from training_migration.lint.checks import Checks
from training_migration.lint.entry_point import NOTHING, EntryPoint
from training_migration.lint.pods import Template
from training_migration.lint.variables import FIXED_PORT, POLICY_OF
from training_migration.targets import FEATURES, Features
from training_migration.v1_job import V1Job

Json = Mapping[str, Any]
_LEADERS: Final = ("Master", "Chief", "Launcher")


@dataclass(frozen=True, slots=True)
class Role(Template):
    """One replica type."""

    name: str
    path: str
    """Of its entry in the spec."""
    spec: ReplicaSpec
    main: str
    """Name of the container that trains."""

    @property
    def count(self) -> int:
        """How many replicas it has."""
        return max(self.spec.replicas or 0, 0)

    @property
    def pod(self) -> Json:
        """The spec of its pods."""
        return self.spec.template.get("spec") or {}

    @property
    def pod_path(self) -> str:
        """Where that is."""
        return f"{self.path}.template.spec"


@dataclass(frozen=True)
class Subject:
    """One job, what it shall become, and what is known of its image."""

    given: V1Job
    options: Options
    scripts: Sequence[tuple[str, str]] = ()
    """Path and text of the scripts that it may run."""
    entry: EntryPoint = NOTHING
    """What its image starts."""

    @property
    def job(self) -> Job:
        """With defaults."""
        return self.given.job

    @property
    def info(self) -> KindInfo:
        """Its kind."""
        return self.given.job.info

    @property
    def kind(self) -> str:
        """The name of its kind."""
        return self.info.kind

    @property
    def spec(self) -> Any:
        """The spec, of the model of its kind."""
        return self.given.job.spec

    @property
    def policy(self) -> RunPolicy:
        """The run policy."""
        return self.given.job.spec.run_policy

    @property
    def features(self) -> Features:
        """What the target has."""
        return FEATURES[self.options.target]

    @cached_property
    def roles(self) -> tuple[Role, ...]:
        """The replica types that have replicas, in the order of ranks."""
        found = [
            Role(name, self.info.replica_path(name), spec, self.job.main_container(name))
            for name, spec in self.job.replicas.items()
            if (spec.replicas or 0) > 0
        ]
        return tuple(sorted(found, key=lambda role: role.name not in _LEADERS))

    def role(self, name: str) -> Role | None:
        """The replica type of this name, if it has replicas."""
        return next((role for role in self.roles if role.name == name), None)

    @property
    def size(self) -> int:
        """How many pods the job has."""
        return sum(role.count for role in self.roles)

    @property
    def templates(self) -> Sequence[Role]:
        """Those of all replica types; v2 changes the container that trains in each."""
        return self.roles

    training = templates

    @property
    def fixed_port(self) -> bool:
        """Whether the policy of v2 for the kind has a port that cannot be chosen."""
        return POLICY_OF.get(self.kind) in FIXED_PORT & self.features.policies

    @property
    def has_master(self) -> bool:
        """Whether one of its pods is a master."""
        return self.role("Master") is not None

    def launcher(self, role: Role) -> Launcher:
        """What starts the training in pods of this type, as far as command, image and scripts show."""
        command, args = self.entry.of(role.container)
        return launcher_of(command, args, self.scripts)

    @property
    def launchers(self) -> Iterator[tuple[Role, Launcher]]:
        """What starts the training, by replica type."""
        for role in self.roles:
            yield role, self.launcher(role)


V1: Final[Checks[Subject]] = Checks()
"""The checks on jobs of v1; modules next to this one fill it."""
