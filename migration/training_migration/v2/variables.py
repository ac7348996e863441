"""Environment variables as Trainer writes them."""

from __future__ import annotations

from typing import Any, Final

from training_api.quantity import canonical
from training_migration.v2.draft import Draft
from training_migration.v2.names import INDEX_FIELD

Json = dict[str, Any]

_CARRIED: Final = {
    "fieldRef": ("fieldPath",),
    "resourceFieldRef": ("containerName", "resource", "divisor"),
    "configMapKeyRef": ("key", "name", "optional"),
    "secretKeyRef": ("key", "name", "optional"),
}
"""Sources that Trainer carries over from a TrainJob, and what of them; others are lost."""


def literal(name: str, value: object) -> Json:
    """A variable with a value."""
    return {"name": name, "value": str(value)}


def index_of_pod(name: str) -> Json:
    """A variable with the pod's completion index."""
    return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": INDEX_FIELD}}}


def trainer_variables(draft: Draft) -> list[Json]:
    """Those of the trainer block."""
    return [carried(each) for each in (draft.trainer or {}).get("env") or ()]


def carried(variable: Json) -> Json:
    """A variable of the TrainJob as it arrives in the JobSet."""
    if (source := variable.get("valueFrom")) is None:
        return literal(variable["name"], variable.get("value") or "")
    taken = {
        kind: {name: source[kind][name] for name in names if source[kind].get(name) is not None}
        for kind, names in _CARRIED.items()
        if source.get(kind)
    }
    if reference := taken.get("resourceFieldRef"):
        reference["divisor"] = canonical(str(reference.get("divisor", "0")))
    return {"name": variable["name"], "valueFrom": taken}
