"""Variables, ports and names of v1's pods and v2's, as rules look for them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from training_api.registry import KINDS
from training_controllers.frameworks.registry import frameworks

_RANKS: Final = frozenset({"MASTER_ADDR", "MASTER_PORT", "WORLD_SIZE", "RANK"})

V1_VARIABLES: Final[Mapping[str, frozenset[str]]] = {
    "PyTorchJob": _RANKS,
    "TFJob": frozenset({"TF_CONFIG"}),
    "XGBoostJob": _RANKS | {"WORKER_PORT", "WORKER_ADDRS"},
    "MPIJob": frozenset(),
    "PaddleJob": frozenset(
        {"PADDLE_MASTER", "PADDLE_NNODES", "PADDLE_JOB_ID", "PADDLE_SERVER_NUM", "PADDLE_TRAINER_NUM"}
    ),
    "JAXJob": frozenset({"COORDINATOR_ADDRESS", "COORDINATOR_PORT", "NUM_PROCESSES", "PROCESS_ID"}),
}
"""What v1 sets and v2 does not, by kind."""


def set_by_v1(kind: str) -> frozenset[str]:
    """What v1 sets and v2 does not for a kind, be it of another package."""
    return V1_VARIABLES[kind] if kind in V1_VARIABLES else frozenset(frameworks()[kind].variables)


WORLD: Final = frozenset(
    {
        "WORLD_SIZE",
        "RANK",
        "MASTER_ADDR",
        "TF_CONFIG",
        "NUM_PROCESSES",
        "PROCESS_ID",
        "COORDINATOR_ADDRESS",
        "WORKER_ADDRS",
        "PADDLE_MASTER",
        "PADDLE_NNODES",
    }
)
"""Of these, the ones without which a process believes to be alone."""

NUMBERS: Final = frozenset({"WORLD_SIZE", "RANK", "NUM_PROCESSES", "PROCESS_ID"})
"""Of these, the ones that are numbers."""

UNBUFFERED: Final = frozenset({"PyTorchJob", "XGBoostJob", "PaddleJob", "JAXJob"})
"""Kinds whose pods v1 gave PYTHONUNBUFFERED."""

TO_EVERY_CONTAINER: Final = UNBUFFERED
"""Kinds whose variables v1 gave to every container of a pod."""

V1_PORTS: Final[Mapping[str, int]] = {info.kind: info.port for info in KINDS.values() if info.services}
"""The port that v1 gave each kind that has one."""

POLICY_OF: Final[Mapping[str, str]] = {
    "PyTorchJob": "torch",
    "XGBoostJob": "xgboost",
    "MPIJob": "mpi",
    "JAXJob": "jax",
}
"""The policy of v2 for a kind; the others have none."""

_OPEN_MPI: Final = frozenset(
    {
        "OMPI_MCA_orte_default_hostfile",
        "OMPI_MCA_orte_keep_fqdn_hostnames",
        "OMPI_MCA_orte_set_default_slots",
        "OMPI_MCA_plm_rsh_args",
    }
)
RESERVED: Final[Mapping[str, frozenset[str]]] = {
    "torch": frozenset({"PET_NNODES", "PET_NPROC_PER_NODE", "PET_NODE_RANK", "PET_MASTER_ADDR", "PET_MASTER_PORT"}),
    "xgboost": frozenset({"DMLC_TRACKER_URI", "DMLC_TRACKER_PORT", "DMLC_TASK_ID", "DMLC_NUM_WORKER"}),
    "mpi": _OPEN_MPI,
}
"""What v2's admission rejects in `trainer.env`, by policy; that of mpi from 2.3 on."""

SET_BY_POLICY: Final[Mapping[str, frozenset[str]]] = {
    **RESERVED,
    "jax": frozenset({"JAX_NUM_PROCESSES", "JAX_PROCESS_ID", "JAX_COORDINATOR_ADDRESS"}),
}
"""What v2 sets, by policy."""

FIXED_PORT: Final = frozenset({"torch", "jax", "xgboost"})
"""Policies that set variables and the port 29500 where the TrainJob has a block `trainer`."""
