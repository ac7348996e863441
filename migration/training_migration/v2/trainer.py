"""What the blocks `trainer` and `initializer` of a TrainJob change in the containers."""

from __future__ import annotations

from typing import Any

from training_migration.v2.draft import Draft, Role, put_variables
from training_migration.v2.names import CONTAINER_OF, DATASET_INITIALIZER, MODEL_INITIALIZER, NODE, TRAINER
from training_migration.v2.variables import carried, literal, trainer_variables

Json = dict[str, Any]


def set_blocks(draft: Draft) -> None:
    """Lay the blocks over their containers, after all policies."""
    initializers = draft.spec.get("initializer") or {}
    blocks = {DATASET_INITIALIZER: initializers.get("dataset"), MODEL_INITIALIZER: initializers.get("model")}
    for role in draft.roles:
        if role.ancestor in CONTAINER_OF:
            role.replicated_job["replicas"] = 1
        if (block := blocks.get(role.ancestor)) is not None:
            _initialize(role, block)
        if role.ancestor == TRAINER:
            _train(role, draft.trainer or {})
        if role.ancestor == TRAINER or (draft.nodes_get_trainer and role.name == NODE):
            _set_variables(role, draft)


def _initialize(role: Role, block: Json) -> None:
    if (container := role.container(CONTAINER_OF[role.ancestor])) is None:
        return
    address = [] if block.get("storageUri") is None else [literal("STORAGE_URI", block["storageUri"])]
    put_variables(container, [*address, *map(carried, block.get("env") or ())])
    if secret := block.get("secretRef"):
        container.setdefault("envFrom", []).append({"secretRef": {"name": secret["name"]}})


def _train(role: Role, block: Json) -> None:
    """Image, command and arguments replace the template's, each on its own."""
    if (container := role.container(NODE)) is not None:
        container.update({name: block[name] for name in ("image", "command", "args") if block.get(name) is not None})


def _set_variables(role: Role, draft: Draft) -> None:
    if (container := role.container(NODE)) is not None and draft.trainer is not None:
        put_variables(container, trainer_variables(draft))
