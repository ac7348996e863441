"""The spec of an XGBoostJob."""

from __future__ import annotations

from pydantic import Field

from training_api.models.common import JobSpec, ReplicaSpecs


class XGBoostJobSpec(JobSpec):
    """What an XGBoostJob runs: a master, with or without workers."""

    replica_specs: ReplicaSpecs = Field(alias="xgbReplicaSpecs")
    """The replicas by type: Master (one replica) and Worker, in upper or lower case."""
