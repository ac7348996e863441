"""The spec of a PaddleJob."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import Field

from training_api.models.common import JobSpec, ReplicaSpecs
from training_api.models.elastic import ElasticPolicy


class PaddleJobSpec(JobSpec):
    """What a PaddleJob runs: workers alone (collective), or masters as parameter servers with workers."""

    replica_specs: ReplicaSpecs = Field(alias="paddleReplicaSpecs")
    """The replicas by type: Master and Worker, in upper or lower case."""
    elastic_policy: ElasticPolicy | None = None
    """Accepted and completed, but without effect."""

    @property
    def bounds(self) -> Mapping[str, int | None]:
        """The elastic bounds."""
        return self.elastic_policy.bounds if self.elastic_policy is not None else {}

    def with_kind_defaults(self) -> PaddleJobSpec:
        """Complete the elastic bounds."""
        if self.elastic_policy is None:
            return self
        return self.model_copy(update={"elastic_policy": self.elastic_policy.with_both_bounds(self.replica_specs)})
