"""The spec of a PyTorchJob."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import Field

from training_api.models.common import ApiModel, Int32, JobSpec, ReplicaSpecs
from training_api.models.elastic import ElasticPolicy, Metric


class RendezvousSetting(ApiModel):
    """One extra setting of the rendezvous."""

    key: str = ""
    """Name of the setting."""
    value: str = ""
    """Value of the setting."""


class PyTorchElasticPolicy(ElasticPolicy):
    """Settings for torchrun: the number of nodes, and their rendezvous."""

    rdzv_backend: str | None = None
    """Backend of the rendezvous: c10d (the default), etcd, etcd-v2, or one that the image provides."""
    rdzv_port: Int32 | None = None
    """Port of the rendezvous. Absent means the port pytorchjob-port of the workers."""
    rdzv_host: str | None = None
    """Host of the rendezvous. Absent means worker 0."""
    rdzv_id: str | None = None
    """Name that separates this rendezvous from others on the same host."""
    rdzv_conf: tuple[RendezvousSetting, ...] | None = None
    """Extra settings of the rendezvous, in their order."""
    standalone: bool | None = None
    """Whether the rendezvous stays within a single node."""
    n_proc_per_node: Int32 | None = None
    """Deprecated: use nprocPerNode of the spec, and not both."""
    metrics: tuple[Metric, ...] | None = None
    """If given, the workers get a HorizontalPodAutoscaler with these metrics and the bounds above."""


class PyTorchJobSpec(JobSpec):
    """What a PyTorchJob runs: a master with or without workers, or workers alone."""

    replica_specs: ReplicaSpecs = Field(alias="pytorchReplicaSpecs")
    """The replicas by type: Master (one replica) and Worker, in upper or lower case."""
    nproc_per_node: str | None = None
    """Processes that torchrun starts in each pod: auto (the default), cpu, gpu, or a number."""
    elastic_policy: PyTorchElasticPolicy | None = None
    """Makes the number of workers elastic."""

    @property
    def bounds(self) -> Mapping[str, int | None]:
        """The elastic bounds."""
        return self.elastic_policy.bounds if self.elastic_policy is not None else {}

    def with_kind_defaults(self) -> PyTorchJobSpec:
        """Complete the elastic bounds; `nprocPerNode` is `auto` unless the deprecated field is used."""
        elastic = self.elastic_policy
        nproc = self.nproc_per_node
        if nproc is None and (elastic is None or elastic.n_proc_per_node is None):
            nproc = "auto"
        if elastic is not None:
            elastic = elastic.with_both_bounds(self.replica_specs)
        return self.model_copy(update={"elastic_policy": elastic, "nproc_per_node": nproc})
