"""The six kinds."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from training_api.cel import has_type
from training_api.constants import MOST_PROCESSES
from training_api.kinds import KindInfo, SpecRule
from training_api.models.common import RestartPolicy
from training_api.models.jax import JAXJobSpec
from training_api.models.mpi import MPIJobSpec
from training_api.models.paddle import PaddleJobSpec
from training_api.models.pytorch import PyTorchJobSpec
from training_api.models.tensorflow import TFJobSpec
from training_api.models.xgboost import XGBoostJobSpec
from training_api.problems import ProblemKind

TOO_MANY_PROCESSES = f"must not be more than {MOST_PROCESSES}"


def _too_many(processes: int | None) -> bool:
    return processes is not None and processes > MOST_PROCESSES


PYTORCH = KindInfo(
    kind="PyTorchJob",
    plural="pytorchjobs",
    short_names=("ptj",),
    spec=PyTorchJobSpec,
    replica_field="pytorchReplicaSpecs",
    replica_types=("Master", "Worker"),
    container="pytorch",
    port_name="pytorchjob-port",
    port=23456,
    restart_policy=RestartPolicy.ON_FAILURE,
    scalable=True,
    metrics_label="pytorch",
    single_types=("Master",),
    populated_types=("Worker",),
    rules=(
        SpecRule(
            path="pytorchReplicaSpecs[Worker]",
            problem=ProblemKind.REQUIRED,
            detail="must be configured if elastic policy is used",
            cel=f"!has(self.elasticPolicy) || {has_type('self.pytorchReplicaSpecs', 'Worker')}",
            broken=lambda spec: spec.elastic_policy is not None and "Worker" not in spec.replica_specs,
        ),
        SpecRule(
            path="elasticPolicy.nProcPerNode",
            problem=ProblemKind.FORBIDDEN,
            detail="must not be used with spec.nprocPerNode",
            cel="!has(self.nprocPerNode) || !has(self.elasticPolicy) || !has(self.elasticPolicy.nProcPerNode)",
            broken=lambda spec: (
                spec.nproc_per_node is not None
                and spec.elastic_policy is not None
                and spec.elastic_policy.n_proc_per_node is not None
            ),
        ),
        SpecRule(
            path="elasticPolicy.nProcPerNode",
            problem=ProblemKind.FORBIDDEN,
            detail=TOO_MANY_PROCESSES,
            cel="!has(self.elasticPolicy) || !has(self.elasticPolicy.nProcPerNode) || "
            f"self.elasticPolicy.nProcPerNode <= {MOST_PROCESSES}",
            broken=lambda spec: spec.elastic_policy is not None and _too_many(spec.elastic_policy.n_proc_per_node),
        ),
    ),
)

TENSORFLOW = KindInfo(
    kind="TFJob",
    plural="tfjobs",
    short_names=("tfj",),
    spec=TFJobSpec,
    replica_field="tfReplicaSpecs",
    replica_types=("PS", "Worker", "Chief", "Master", "Evaluator"),
    container="tensorflow",
    port_name="tfjob-port",
    port=2222,
    restart_policy=RestartPolicy.NEVER,
    scalable=False,
    metrics_label="tensorflow",
    other_types=True,
    rules=(
        SpecRule(
            path="tfReplicaSpecs",
            problem=ProblemKind.FORBIDDEN,
            detail="must not have more than 1 Chief or Master role",
            cel=f"!({has_type('self.tfReplicaSpecs', 'Chief')} && {has_type('self.tfReplicaSpecs', 'Master')})",
            broken=lambda spec: {"Chief", "Master"} <= set(spec.replica_specs),
        ),
    ),
)

XGBOOST = KindInfo(
    kind="XGBoostJob",
    plural="xgboostjobs",
    short_names=("xgbj",),
    spec=XGBoostJobSpec,
    replica_field="xgbReplicaSpecs",
    replica_types=("Master", "Worker"),
    container="xgboost",
    port_name="xgboostjob-port",
    port=9999,
    restart_policy=RestartPolicy.NEVER,
    scalable=False,
    metrics_label="xgboost",
    required_types=("Master",),
    single_types=("Master",),
)

MPI = KindInfo(
    kind="MPIJob",
    plural="mpijobs",
    short_names=("mpij",),
    spec=MPIJobSpec,
    replica_field="mpiReplicaSpecs",
    replica_types=("Launcher", "Worker"),
    unnumbered_types=("Launcher",),
    container="mpi",
    port_name="mpi-port",
    port=9999,
    restart_policy=RestartPolicy.NEVER,
    scalable=False,
    metrics_label="mpi",
    services=False,
    required_types=("Launcher",),
    single_types=("Launcher",),
    default_replicas=MappingProxyType({"Worker": 0}),
    rules=(
        SpecRule(
            path="slotsPerWorker",
            problem=ProblemKind.FORBIDDEN,
            detail=TOO_MANY_PROCESSES,
            cel=f"!has(self.slotsPerWorker) || self.slotsPerWorker <= {MOST_PROCESSES}",
            broken=lambda spec: _too_many(spec.slots_per_worker),
        ),
    ),
    age_first=True,
)

PADDLE = KindInfo(
    kind="PaddleJob",
    plural="paddlejobs",
    short_names=("pdj",),
    spec=PaddleJobSpec,
    replica_field="paddleReplicaSpecs",
    replica_types=("Master", "Worker"),
    container="paddle",
    port_name="master",
    port=36543,
    restart_policy=RestartPolicy.ON_FAILURE,
    scalable=True,
    metrics_label="paddle",
)

JAX = KindInfo(
    kind="JAXJob",
    plural="jaxjobs",
    short_names=("jaxj",),
    spec=JAXJobSpec,
    replica_field="jaxReplicaSpecs",
    replica_types=("Worker",),
    container="jax",
    port_name="jaxjob-port",
    port=6666,
    restart_policy=RestartPolicy.NEVER,
    scalable=True,
    metrics_label="jax",
)

KINDS: Mapping[str, KindInfo] = MappingProxyType(
    {info.kind: info for info in (PYTORCH, TENSORFLOW, XGBOOST, MPI, PADDLE, JAX)}
)
"""Every kind by its name."""
