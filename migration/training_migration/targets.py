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


NEWEST: Final = Target.V2_3
"""The newest release, which is taken where none is given."""


class GroupResources(StrEnum):
    """Whose resources a group of pods is reckoned with, where the TrainJob states some."""

    TEMPLATE = "template"
    GIVEN = "given"
    """The TrainJob's alone, in the pods of the trainer."""
    MERGED = "merged"
    """What the pods get."""


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
    rejects_torch_env: bool
    """Whether the torch policy's variables are always rejected in `trainer.env`; else only next to `numProcPerNode`."""
    rejects_mpi_env: bool
    """Whether the variables of Open MPI that the policy sets are rejected in `trainer.env`."""
    ttl_runs_again: bool
    """Whether a failed job whose JobSet expires runs again, forever (kubeflow/trainer 3779)."""
    nodes_first: bool
    """Whether the shipped MPI runtimes list nodes before the launcher, so that rank 0 is a node."""
    counts_template: bool
    """Whether processes are counted by the resources of the template where the TrainJob says nothing."""
    nodes_get_trainer: bool
    """Whether the nodes of MPI get the trainer block's variables and resources if the launcher trains as well."""
    group_resources: GroupResources
    """With which resources the group of pods is reckoned."""
    ports_clash: bool
    """Whether ports without a name, and those of one number, are written over each other (kubeflow/trainer 3925)."""
    init_ports: bool
    """Whether ports of init containers are merged by number and name as well."""
    resources_need_policy: bool
    """Whether `resourcesPerNode` is ignored with a runtime that has no `mlPolicy`."""
    key_modes: bool
    """Whether the files of MPI's keys have modes of their own."""
    patches_grace_period: bool
    """Whether `runtimePatches` can set `terminationGracePeriodSeconds`."""
    initializer_mount: bool
    """Whether initializers must have a volume mounted that is called `initializer`."""
    jobset_groups: bool
    """Whether the JobSet that belongs to the release labels its pods with their group and its own UID."""
    kubernetes: str
    """The oldest Kubernetes that its installation guide asks for."""


_FIRST: Final = frozenset({"torch", "mpi"})
_MORE: Final = _FIRST | {"jax", "xgboost", "flux"}
_OVERRIDES: Final = {Target.V2_0: "podSpecOverrides", Target.V2_1: "podTemplateOverrides"}
_GROUP_RESOURCES: Final = {
    Target.V2_0: GroupResources.TEMPLATE,
    Target.V2_1: GroupResources.TEMPLATE,
    Target.V2_2: GroupResources.GIVEN,
}


def _features(target: Target) -> Features:
    """Each line says since when."""
    releases = list(Target)

    def since(first: Target) -> bool:
        return releases.index(target) >= releases.index(first)

    return Features(
        policies=_MORE if since(Target.V2_2) else _FIRST,
        overrides=_OVERRIDES.get(target, "runtimePatches"),
        deadline=since(Target.V2_2),
        torch_env_injection=since(Target.V2_3),
        multikueue=since(Target.V2_3),
        snapshot=since(Target.V2_3),
        merges_resources=since(Target.V2_3),
        rejects_torch_env=since(Target.V2_2),
        rejects_mpi_env=since(Target.V2_3),
        ttl_runs_again=not since(Target.NEXT),
        nodes_first=since(Target.V2_3),
        volcano=since(Target.V2_1),
        counts_template=since(Target.V2_1),
        nodes_get_trainer=since(Target.V2_1),
        group_resources=_GROUP_RESOURCES.get(target, GroupResources.MERGED),
        ports_clash=not since(Target.NEXT),
        init_ports=since(Target.V2_3),
        resources_need_policy=since(Target.V2_3),
        key_modes=since(Target.V2_3),
        patches_grace_period=since(Target.V2_3),
        initializer_mount=since(Target.V2_3),
        jobset_groups=since(Target.V2_1),
        kubernetes="1.31",
    )


FEATURES: Final[Mapping[Target, Features]] = {target: _features(target) for target in Target}
