"""Rules on runtimes and TrainJobs that users wrote."""

from __future__ import annotations

from typing import Final

from training_migration.findings import Rule, Severity
from training_migration.rules.references import RUNTIMES

_API: Final = "kubeflow/trainer, TrainJob API"

RULES: Final = (
    Rule(
        "MIG501",
        Severity.ERROR,
        "A TrainJob without `trainer`",
        "The policies of torch, jax and xgboost give variables and ports only to a TrainJob that has the block "
        "`spec.trainer`. Without it every node is alone.",
        "Write `trainer: {}` at least; better the number of nodes.",
        "kubeflow/trainer, torch, jax and xgboost plugins",
    ),
    Rule(
        "MIG502",
        Severity.WARNING,
        "Resources that have no effect",
        "From 2.3 on `trainer.resourcesPerNode` is applied where the runtime has an `mlPolicy` only.",
        "Give the runtime an `mlPolicy` with `numNodes`, or write the resources into its template.",
        _API,
    ),
    Rule(
        "MIG503",
        Severity.ERROR,
        "Fields of the torch policy that were removed",
        "`mlPolicy.torch.numProcPerNode` and `elasticPolicy` existed in 2.0 and 2.1. From 2.2 on a request "
        "with strict field validation is rejected; other requests lose the fields silently. The "
        "documentation still shows the first.",
        "Give the number in `spec.trainer.numProcPerNode` of the TrainJob.",
        RUNTIMES,
    ),
    Rule(
        "MIG504",
        Severity.ERROR,
        "Fields of a TrainJob that only other releases have",
        "What changes a runtime's pods for one run is `podSpecOverrides` in 2.0, `podTemplateOverrides` in 2.1, and "
        "`runtimePatches` from 2.2 on; `labels` and `annotations` of the spec went with 2.2.",
        "Write the field of the target release.",
        _API,
    ),
    Rule(
        "MIG505",
        Severity.ERROR,
        "A patch of the runtime that v2 rejects",
        "A patch may not set variables of `node` or of the initializers, may not add a container, and may set only a "
        "few fields of a container: variables, mounts, security context.",
        "Set variables of `node` in `spec.trainer.env`. For everything else make a runtime.",
        _API,
    ),
    Rule(
        "MIG506",
        Severity.WARNING,
        "A runtime that was changed after a TrainJob had used it",
        "From 2.3 on a TrainJob keeps a copy of the runtime from when it was first seen. A later change reaches new "
        "TrainJobs only.",
        "Delete the TrainJob and create it again.",
        "kubeflow/trainer, ConfigMap NAME-runtime-snapshot",
    ),
    Rule(
        "MIG507",
        Severity.ERROR,
        "A step of the training that v2 cannot tie to its container",
        "A replicated job with the label `trainer.kubeflow.org/trainjob-ancestor-step` must have one replica and a "
        "container of the name that belongs to the step: `node`, `dataset-initializer`, `model-initializer`.",
        "Set `replicas: 1` or leave it out, and name the container so. The number of nodes belongs to the policy.",
        "kubeflow/trainer, validation of runtimes",
    ),
    Rule(
        "MIG508",
        Severity.ERROR,
        "A TTL that starts failed jobs again",
        "`ttlSecondsAfterFinished` deletes the JobSet. Up to 2.3.0 the TrainJob of a failed one re-creates it and "
        "trains again, forever; 2.1.0 did so after success too.",
        "Leave it out, and delete finished TrainJobs from outside.",
        "kubeflow/trainer#3779, kubeflow/trainer#2991, kubeflow/trainer#2899",
    ),
    Rule(
        "MIG509",
        Severity.WARNING,
        "One process for each node of an MPI runtime, with several GPUs",
        "A value of 1 in `mlPolicy.mpi.numProcPerNode` counts as not given: the number of GPUs takes its place.",
        "Give the number in `spec.trainer.numProcPerNode` of the TrainJob.",
        "kubeflow/trainer, mpi plugin",
    ),
    Rule(
        "MIG510",
        Severity.WARNING,
        "A number of pods that has no effect",
        "Where the runtime has an `mlPolicy`, the replicated job with the label of the trainer gets its `numNodes`, "
        "and 1 if it is absent; `parallelism` is replaced.",
        "Write the number into `mlPolicy.numNodes`, or leave the policy out.",
        "kubeflow/trainer, plain policy",
    ),
    Rule(
        "MIG511",
        Severity.WARNING,
        "A runtime that is not among the files",
        "What a TrainJob becomes depends on its runtime. This one is neither given nor one that v2 ships, so that its "
        "policy, its command and its variables are not known.",
        "Give the runtime's file too.",
        RUNTIMES,
    ),
)
