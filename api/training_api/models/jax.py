"""The spec of a JAXJob."""

from __future__ import annotations

from pydantic import Field

from training_api.models.common import JobSpec, ReplicaSpecs


class JAXJobSpec(JobSpec):
    """What a JAXJob runs: workers, of which the first coordinates."""

    replica_specs: ReplicaSpecs = Field(alias="jaxReplicaSpecs")
    """The replicas by type: Worker, in upper or lower case."""
