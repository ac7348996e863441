"""PyTorch: the variables that torchrun reads."""

from __future__ import annotations

from typing import Any, Final

from training_migration.v2.denied import Denied, NotPredicted
from training_migration.v2.draft import Draft, put_ports, put_variables
from training_migration.v2.names import PORT, RESERVED, host_of_rank_0
from training_migration.v2.policies.policy import Policy
from training_migration.v2.quantities import units
from training_migration.v2.resources import accelerators, resources_per_node
from training_migration.v2.variables import index_of_pod, literal, trainer_variables

Json = dict[str, Any]

TORCHTUNE: Final = ["tune", "run"]


def _applies(draft: Draft) -> bool:
    return draft.policy("torch") is not None


def _check(draft: Draft) -> None:
    for job, container in _further(draft):
        role = draft.role(job)
        if role is None or role.container(container, also_init=True) is None:
            raise Denied("spec.runtimeRef", f"envInjection names container {container} of {job}, which does not exist")
    if draft.features.rejects_torch_env or "numProcPerNode" in (draft.trainer or {}):
        draft.reject_variables(RESERVED["torch"])
    if (draft.trainer or {}).get("command") == TORCHTUNE:
        raise NotPredicted("spec.trainer.command", "what v2 adds to `tune run` is not predicted")


def _enforce(draft: Draft) -> None:
    variables = _variables(draft)
    if (container := draft.training_container()) is not None:
        put_variables(container, [*trainer_variables(draft), *variables])
        put_ports(container, [{"containerPort": PORT}], draft.features)
    for job, name in _further(draft):
        role = draft.role(job)
        if role is not None and (further := role.container(name, also_init=True)) is not None:
            put_variables(further, variables)


def _variables(draft: Draft) -> list[Json]:
    return [
        literal("PET_NNODES", draft.count_nodes()),
        literal("PET_NPROC_PER_NODE", _processes(draft)),
        index_of_pod("PET_NODE_RANK"),
        literal("PET_MASTER_ADDR", host_of_rank_0(draft.name)),
        literal("PET_MASTER_PORT", PORT),
    ]


def _processes(draft: Draft) -> str:
    """What the TrainJob says, or the runtime in releases where it can; else `auto` with GPUs, and without the CPUs."""
    given = (draft.trainer or {}).get("numProcPerNode", (draft.policy("torch") or {}).get("numProcPerNode", "auto"))
    if not draft.features.counts_template:
        if "resourcesPerNode" in (draft.trainer or {}):
            raise NotPredicted(
                "spec.trainer.resourcesPerNode", "how this release counts processes then is not predicted"
            )
        return str(given)
    resources = resources_per_node(draft)
    if given != "cpu" and (given != "auto" or accelerators(resources)):
        return str(given)
    cpus = _cpus(resources, "requests") or _cpus(resources, "limits")
    return str(max(1, cpus))


def _cpus(resources: Json, block: str) -> int:
    return units({block: {"cpu": (resources.get(block) or {}).get("cpu", "0")}}, block, "cpu")


def _further(draft: Draft) -> list[tuple[str, str]]:
    """Role and container of those who get the variables next to the one that trains."""
    injection = (draft.policy("torch") or {}).get("envInjection") or {}
    return [(each["jobName"], name) for each in injection.get("targets") or () for name in each["containerNames"]]


POLICY = Policy(_applies, _check, _enforce)
