"""How much of a machine a node of the training has, as the policies reckon."""

from __future__ import annotations

from typing import Any

from training_migration.v2.draft import Draft
from training_migration.v2.names import NODE, TRAINER
from training_migration.v2.quantities import units

Json = dict[str, Any]


def resources_per_node(draft: Draft) -> Json:
    """The TrainJob's alone, where it states any; else those of the first container `node` of nodes or trainer."""
    if (given := (draft.trainer or {}).get("resourcesPerNode")) is not None:
        return dict(given)
    for role in draft.roles:
        if (role.name == NODE or role.ancestor == TRAINER) and (container := role.container(NODE)) is not None:
            return container.get("resources") or {}
    return {}


def accelerators(resources: Json) -> int:
    """Of resources whose name says that they are GPUs; slices and other accelerators do not count."""
    return units(resources, "requests", "gpu") or units(resources, "limits", "gpu")
