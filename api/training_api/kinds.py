"""What distinguishes one job kind from another as far as its data goes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from training_api.models.common import JobMetadata, JobSpec, JobStatus, ReplicaSpec, RestartPolicy


@dataclass(frozen=True, slots=True)
class KindInfo:
    """The declaration of one job kind; CRDs, defaults, validation and engine are derived from it."""

    kind: str
    plural: str
    short_names: tuple[str, ...]
    spec: type[JobSpec]
    replica_field: str
    """Name of the replica map under `spec`, as on the wire (for example `pytorchReplicaSpecs`)."""
    replica_types: tuple[str, ...]
    """Canonical replica types in the order in which they are processed (K-10)."""
    container: str
    port_name: str
    port: int
    restart_policy: RestartPolicy
    scalable: bool
    """Whether there is a scale subresource on the Worker replicas, and a selector in their status."""
    metrics_label: str
    """Value of the label `framework` of the job counters."""

    @property
    def singular(self) -> str:
        """The kind in lower case, as in `kubectl get pytorchjob`."""
        return self.kind.lower()

    @property
    def controller_name(self) -> str:
        """Name of the controller: value of the operator-name label and source of events."""
        return f"{self.singular}-controller"


@dataclass(frozen=True, slots=True)
class Job:
    """A decoded job of any kind; replica types are canonical and complete once defaults are applied."""

    info: KindInfo
    metadata: JobMetadata
    spec: JobSpec
    replicas: Mapping[str, ReplicaSpec]
    """The replica map of the spec, in processing order."""
    status: JobStatus

    @property
    def key(self) -> tuple[str, str]:
        """Namespace and name."""
        return self.metadata.namespace, self.metadata.name
