"""The spec of a TFJob."""

from __future__ import annotations

from pydantic import Field

from training_api.models.common import JobSpec, ReplicaSpecs


class TFJobSpec(JobSpec):
    """What a TFJob runs: any of parameter servers, workers, a chief, evaluators."""

    replica_specs: ReplicaSpecs = Field(alias="tfReplicaSpecs")
    """The replicas by type: PS, Worker, Chief (or Master, its old name) and Evaluator, in upper or lower case. Other
    types run too, but do not influence the job."""
    success_policy: str = ""
    """When the job succeeds if it has no chief: AllWorkers once all workers have; otherwise once worker 0 has."""
    enable_dynamic_worker: bool = False
    """Whether each worker knows only itself and the parameter servers, so that workers may come and go."""
