"""The frameworks that this operator runs, by kind."""

from __future__ import annotations

from collections.abc import Mapping

from training_controllers.frameworks.base import Framework
from training_controllers.frameworks.jax import jax
from training_controllers.frameworks.pytorch import PyTorchOptions, pytorch


def frameworks(pytorch_options: PyTorchOptions | None = None) -> Mapping[str, Framework]:
    """The framework of each kind that has one."""
    known = (jax(), pytorch(pytorch_options or PyTorchOptions()))
    return {framework.info.kind: framework for framework in known}
