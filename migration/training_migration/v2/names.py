"""Names that Trainer, JobSet and the Job controller share on the wire."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

TRAINER_GROUP: Final = "trainer.kubeflow.org/"
TRAINER_API: Final = f"{TRAINER_GROUP}v1alpha1"
JOBSET_API: Final = "jobset.x-k8s.io/v1alpha2"
RUNTIME: Final = "TrainingRuntime"
CLUSTER_RUNTIME: Final = "ClusterTrainingRuntime"

FRAMEWORK: Final = f"{TRAINER_GROUP}framework"
"""Label by which the SDK selects runtimes."""
ANCESTOR: Final = f"{TRAINER_GROUP}trainjob-ancestor-step"
"""Label of a replicated job's Job that ties it to a block of the TrainJob."""
TRAINER: Final = "trainer"
DATASET_INITIALIZER: Final = "dataset-initializer"
MODEL_INITIALIZER: Final = "model-initializer"
CONTAINER_OF: Final = {TRAINER: "node", DATASET_INITIALIZER: DATASET_INITIALIZER, MODEL_INITIALIZER: MODEL_INITIALIZER}
"""Ancestor -> the container that its block of the TrainJob changes."""

NODE: Final = "node"
"""Name of the container that trains, and of the replicated job that plugins take for the nodes."""
DEFAULT_CONTAINER: Final = "kubectl.kubernetes.io/default-container"
"""Annotation of a pod: the container that `kubectl logs` shows."""
LAUNCHER: Final = "launcher"
PORT: Final = 29500
"""Where rank 0 listens; not configurable."""

COMPLETION_INDEX: Final = "batch.kubernetes.io/job-completion-index"
INDEX_FIELD: Final = f"metadata.annotations['{COMPLETION_INDEX}']"
INDEX_VARIABLE: Final = "JOB_COMPLETION_INDEX"
"""The Job controller gives it to every container."""
JOBSET_LABEL: Final = "jobset.sigs.k8s.io/"

RESERVED: Final[Mapping[str, tuple[str, ...]]] = {
    "torch": ("PET_NNODES", "PET_NPROC_PER_NODE", "PET_NODE_RANK", "PET_MASTER_ADDR", "PET_MASTER_PORT"),
    "xgboost": ("DMLC_TRACKER_URI", "DMLC_TRACKER_PORT", "DMLC_TASK_ID", "DMLC_NUM_WORKER"),
    "mpi": (
        "OMPI_MCA_orte_default_hostfile",
        "OMPI_MCA_orte_keep_fqdn_hostnames",
        "OMPI_MCA_orte_set_default_slots",
        "OMPI_MCA_plm_rsh_args",
    ),
}
"""What the policies set and admission rejects in `trainer.env`, by policy; that of mpi from 2.3 on."""
SET_BY_POLICY: Final[Mapping[str, tuple[str, ...]]] = {
    **RESERVED,
    "jax": ("JAX_COORDINATOR_ADDRESS", "JAX_NUM_PROCESSES", "JAX_PROCESS_ID"),
}
"""What the policies set; the TrainJob may set those of jax as well."""


def host_of_rank_0(train_job: str) -> str:
    """Where torch, jax and xgboost expect it, whatever the replicated job or the subdomain is called."""
    return f"{train_job}-{NODE}-0-0.{train_job}"
