"""The frameworks that this operator runs, by kind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from training_api.constants import MAX_REPLICAS
from training_controllers.frameworks.base import Framework
from training_controllers.frameworks.jax import jax
from training_controllers.frameworks.mpi.framework import MPIOptions, mpi
from training_controllers.frameworks.paddle import paddle
from training_controllers.frameworks.plugins import plugins
from training_controllers.frameworks.pytorch.framework import PyTorchOptions, pytorch
from training_controllers.frameworks.tensorflow import tensorflow
from training_controllers.frameworks.xgboost import xgboost
from training_controllers.gang.schedulers import GangScheduler


@dataclass(frozen=True, slots=True)
class FrameworkOptions:
    """Settings of the operator that concern the frameworks."""

    pytorch: PyTorchOptions = field(default_factory=PyTorchOptions)
    mpi: MPIOptions = field(default_factory=MPIOptions)
    cluster_domain: str = ""
    """What the names of a TFJob's replicas end in, after `svc`."""
    gang: GangScheduler | None = None
    """The scheduler that places the pods of a job together; for all kinds."""
    max_replicas: int = MAX_REPLICAS
    """Most replicas of one type; for all kinds."""


def frameworks(options: FrameworkOptions | None = None) -> Mapping[str, Framework]:
    """The framework of each kind: of the six, then those of other packages."""
    chosen = options or FrameworkOptions()
    known = (
        pytorch(chosen.pytorch),
        tensorflow(chosen.cluster_domain),
        xgboost(),
        mpi(chosen.mpi),
        paddle(),
        jax(),
        *(each.framework for each in plugins().found),
    )
    bounded = (replace(framework, max_replicas=chosen.max_replicas) for framework in known)
    return {framework.info.kind: with_gang(framework, chosen.gang) for framework in bounded}


def with_gang(framework: Framework, scheduler: GangScheduler | None) -> Framework:
    """The framework whose jobs are placed by this scheduler."""
    pod_groups = [scheduler.pod_group] if scheduler is not None and scheduler.pod_group is not None else []
    return replace(framework, gang=scheduler, owned_kinds=(*pod_groups, *framework.owned_kinds))
