"""The spec of an MPIJob."""

from __future__ import annotations

from pydantic import Field

from training_api.models.common import Int32, JobSpec, ReplicaSpecs, StoredCleanPodPolicy


class MPIJobSpec(JobSpec):
    """What an MPIJob runs: a launcher that calls mpirun, and workers on which mpirun starts its processes."""

    replica_specs: ReplicaSpecs = Field(alias="mpiReplicaSpecs")
    """The replicas by type: Launcher (one replica) and Worker (by default none), in upper or lower case."""
    slots_per_worker: Int32 | None = None
    """Processes that mpirun may start on each host. Absent means 1."""
    clean_pod_policy: StoredCleanPodPolicy = None
    """Older place of runPolicy.cleanPodPolicy, which wins if both are given."""
    main_container: str | None = None
    """Container of the workers in which processes are started. Absent means their first one."""

    def with_kind_defaults(self) -> MPIJobSpec:
        """Give both places of the clean-up policy the value that counts."""
        policy = self.run_policy.clean_pod_policy or self.clean_pod_policy
        run_policy = self.run_policy.model_copy(update={"clean_pod_policy": policy})
        return self.model_copy(update={"clean_pod_policy": policy, "run_policy": run_policy})
