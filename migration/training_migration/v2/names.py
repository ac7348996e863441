"""Names that Trainer, JobSet and the Job controller share on the wire."""

from __future__ import annotations

from typing import Final

TRAINER_GROUP: Final = "trainer.kubeflow.org/"
TRAINER_API: Final = f"{TRAINER_GROUP}v1alpha1"
JOBSET_API: Final = "jobset.x-k8s.io/v1alpha2"
RUNTIME: Final = "TrainingRuntime"
CLUSTER_RUNTIME: Final = "ClusterTrainingRuntime"

ANCESTOR: Final = "trainer.kubeflow.org/trainjob-ancestor-step"
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
JOBSET_LABEL: Final = "jobset.sigs.k8s.io/"


def host_of_rank_0(train_job: str) -> str:
    """Where torch, jax and xgboost expect it, whatever the replicated job or the subdomain is called."""
    return f"{train_job}-{NODE}-0-0.{train_job}"
