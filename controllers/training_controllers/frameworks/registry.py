"""The frameworks that this operator runs, by kind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from training_controllers.frameworks.base import Framework
from training_controllers.frameworks.jax import jax
from training_controllers.frameworks.mpi import MPIOptions, mpi
from training_controllers.frameworks.paddle import paddle
from training_controllers.frameworks.pytorch import PyTorchOptions, pytorch
from training_controllers.frameworks.tensorflow import tensorflow
from training_controllers.frameworks.xgboost import xgboost


@dataclass(frozen=True, slots=True)
class FrameworkOptions:
    """Settings of the operator that concern one framework only."""

    pytorch: PyTorchOptions = field(default_factory=PyTorchOptions)
    mpi: MPIOptions = field(default_factory=MPIOptions)
    cluster_domain: str = ""
    """What the names of a TFJob's replicas end in, after `svc`."""


def frameworks(options: FrameworkOptions | None = None) -> Mapping[str, Framework]:
    """The framework of each kind that has one."""
    chosen = options or FrameworkOptions()
    known = (
        pytorch(chosen.pytorch),
        tensorflow(chosen.cluster_domain),
        xgboost(),
        mpi(chosen.mpi),
        paddle(),
        jax(),
    )
    return {framework.info.kind: framework for framework in known}
