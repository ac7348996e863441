"""The releases of Trainer v2 that jobs are converted for; what they differ in is data, so that no code asks for one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class Target(StrEnum):
    """A release of Trainer v2, or its branch of development."""

    V2_0 = "2.0"
    V2_1 = "2.1"
    V2_2 = "2.2"
    V2_3 = "2.3"
    NEXT = "next"


@dataclass(frozen=True, slots=True)
class Features:
    """What one release has, and which of its defects a job can meet."""

    policies: frozenset[str]
    """Names of fields of `mlPolicy`."""
    overrides: str
    """The field of a TrainJob that changes the runtime's pods for one run."""
    deadline: bool
    """Whether a TrainJob has `activeDeadlineSeconds`; else the template of its Job has."""
    volcano: bool
    """Whether there are pod groups of Volcano."""
    torch_env_injection: bool
    """Whether the torch policy can give its variables to further containers."""
    multikueue: bool
    """Whether the controller leaves jobs of another manager alone."""
    snapshot: bool
    """Whether a TrainJob keeps the runtime that it was first reconciled with."""
    merges_resources: bool
    """Whether `resourcesPerNode` is merged key by key; else its limits or requests replace the template's."""
    refuses_mpi_env: bool
    """Whether the variables of Open MPI that the policy sets are refused in `trainer.env`."""
    ttl_runs_again: bool
    """Whether a failed job whose JobSet expires runs again, for ever (kubeflow/trainer 3779)."""
    kubernetes: str
    """The oldest Kubernetes that its installation guide asks for."""


_FIRST: Final = frozenset({"torch", "mpi"})
_MORE: Final = _FIRST | {"jax", "xgboost", "flux"}


def _features(policies: frozenset[str], overrides: str, *, second: bool, third: bool, mended: bool = False) -> Features:
    """Of 2.2 (`second`) and 2.3 (`third`) and what came after (`mended`)."""
    return Features(
        policies=policies,
        overrides=overrides,
        deadline=second,
        volcano=overrides != "podSpecOverrides",
        torch_env_injection=third,
        multikueue=third,
        snapshot=third,
        merges_resources=third,
        refuses_mpi_env=third,
        ttl_runs_again=not mended,
        kubernetes="1.31",
    )


FEATURES: Final[Mapping[Target, Features]] = {
    Target.V2_0: _features(_FIRST, "podSpecOverrides", second=False, third=False),
    Target.V2_1: _features(_FIRST, "podTemplateOverrides", second=False, third=False),
    Target.V2_2: _features(_MORE, "runtimePatches", second=True, third=False),
    Target.V2_3: _features(_MORE, "runtimePatches", second=True, third=True),
    Target.NEXT: _features(_MORE, "runtimePatches", second=True, third=True, mended=True),
}
