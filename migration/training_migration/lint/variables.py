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

FIXED_PORT: Final = frozenset({"torch", "jax", "xgboost"})
"""Policies that set variables and the port 29500 where the TrainJob has a block `trainer`."""
