"""What every part of a conversion asks for: the job, the options, and its notes."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from training_api.models.common import ReplicaSpec
from training_api.models.mpi import MPIJobSpec
from training_controllers.model.names import replica_name
from training_controllers.model.plan import Slot
from training_controllers.model.pod_spec import container_named
from training_migration.convert.conversion import Options
from training_migration.convert.notes import Notes
from training_migration.shape import without_nulls
from training_migration.targets import FEATURES, Features
from training_migration.v1_job import V1Job

Json = dict[str, Any]
_Spec = TypeVar("_Spec")
SSH_PORT: Final = 2222
"""Where workers of MPI let their launcher in: above 1023, so that root is not needed."""


@dataclass(frozen=True, slots=True)
class Context:
    """One conversion: what it is of, and what it has noticed so far."""

    job: V1Job
    options: Options
    notes: Notes = field(default_factory=Notes)

    @property
    def name(self) -> str:
        """Of the TrainJob."""
        return self.options.name or self.job.job.metadata.name

    @property
    def namespace(self) -> str:
        """Of what is written; empty where neither the job nor the options name one."""
        stated = (self.job.object.get("metadata") or {}).get("namespace") or ""
        return self.options.namespace or str(stated)

    @property
    def features(self) -> Features:
        """What the target has."""
        return FEATURES[self.options.target]

    @property
    def kubernetes(self) -> tuple[int, ...]:
        """Version of the cluster, or the oldest that the target supports."""
        text = self.options.kubernetes or self.features.kubernetes
        return tuple(int(part) for part in re.findall(r"\d+", text)[:2])

    def spec(self, model: type[_Spec]) -> _Spec:
        """The spec of the job, whose kind has this model."""
        spec = self.job.job.spec
        assert isinstance(spec, model)
        return spec

    def replica(self, replica_type: str) -> ReplicaSpec:
        """The replicas of a type, with defaults."""
        return self.job.job.replicas[replica_type]

    def count(self, replica_type: str) -> int:
        """How many replicas of this type there are; 0 for a type that is not there."""
        replicas = self.job.job.replicas
        return max(replicas[replica_type].replicas or 0, 0) if replica_type in replicas else 0

    def path(self, replica_type: str, rest: str = "") -> str:
        """A field of a replica type as findings write it."""
        path = self.job.job.info.replica_path(replica_type)
        return f"{path}.{rest}" if rest else path

    def v1_host(self, replica_type: str, index: int) -> str:
        """The name under which v1's replicas find this one."""
        return replica_name(self.job.job, Slot(replica_type, index))

    def host(self, group: str, index: int, *, in_one_job: bool = True) -> str:
        """The name under which v2's pods find this one, within the namespace."""
        numbers = f"0-{index}" if in_one_job else f"{index}-0"
        return f"{self.name}-{group}-{numbers}.{self.name}"

    def main_container(self, replica_type: str) -> str:
        """Name of the container that trains, in v1; a worker of MPI may have its ranks in another than the first."""
        spec = self.job.job.spec
        named = spec.main_container if isinstance(spec, MPIJobSpec) and replica_type == "Worker" else None
        if named and container_named(self.replica(replica_type).template, named) is not None:
            return named
        return self.job.job.main_container(replica_type)


def pod_template(spec: ReplicaSpec) -> Json:
    """A copy of the pod template with labels and annotations as its only metadata."""
    template: Json = without_nulls(spec.template)
    metadata = template.get("metadata") or {}
    kept = {key: metadata[key] for key in ("labels", "annotations") if metadata.get(key)}
    pod = template.get("spec") or {}
    return {**({"metadata": kept} if kept else {}), "spec": pod}
