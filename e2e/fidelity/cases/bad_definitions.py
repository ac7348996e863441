"""Definitions of custom resources that are rejected."""

from __future__ import annotations

import copy
from typing import Any

from e2e.fidelity.kinds import DEFINITIONS, definition
from e2e.fidelity.player import Player


async def _with(api: Player, *changes: tuple[str, Any], spec: dict[str, Any] | None = None) -> None:
    """Post a sound definition with some fields changed; a path goes down from `spec`."""
    made = definition("Odd", spec or {"type": "object"})
    for path, value in changes:
        *parents, last = path.split(".")
        place: Any = made["spec"]
        for key in parents:
            place = place[int(key) if key.isdigit() else key]
        if value is None:
            place.pop(last, None)
        else:
            place[last] = copy.deepcopy(value)
    await api.post(DEFINITIONS, made, dryRun="All")


async def sound(api: Player) -> None:
    await _with(api)


async def names(api: Player) -> None:
    await _with(api, ("names.plural", "others"))
    await _with(api, ("names.plural", None))
    await _with(api, ("names.kind", None))
    await _with(api, ("names.kind", "odd_kind"))
    await _with(api, ("names.shortNames", ["Upper"]))
    await _with(api, ("names.listKind", "Odd"))


async def groups_and_scopes(api: Player) -> None:
    await _with(api, ("group", "nodots"))
    await _with(api, ("group", "Upper.example.com"))
    await _with(api, ("group", ""))
    await _with(api, ("scope", "Global"))
    await _with(api, ("scope", ""))


async def versions(api: Player) -> None:
    await _with(api, ("versions.0.name", "V1"))
    await _with(api, ("versions.0.schema", None))


async def columns(api: Player) -> None:
    await _with(api, ("versions.0.additionalPrinterColumns", [{"name": "A", "type": "text", "jsonPath": ".a"}]))
    await _with(api, ("versions.0.additionalPrinterColumns", [{"type": "string", "jsonPath": ""}]))


async def schemas(api: Player) -> None:
    await _with(api, ("versions.0.schema.openAPIV3Schema", {}))
    await _with(api, ("versions.0.schema.openAPIV3Schema", {"type": "string"}))
    await _with(api, spec={"type": "object", "properties": {"a": {}}})
    await _with(api, spec={"type": "object", "properties": {"a": {"type": "array"}}})
    await _with(api, spec={"type": "object", "properties": {"a": {"type": "array", "items": {}}}})
    await _with(api, spec={"type": "object", "properties": {"a": {"type": "text"}}})


async def defaults(api: Player) -> None:
    await _with(api, spec={"type": "object", "properties": {"a": {"type": "string", "default": 1}}})
    await _with(api, spec={"type": "object", "properties": {"a": {"type": "integer", "maximum": 3, "default": 5}}})


async def list_types(api: Player) -> None:
    strings = {"type": "string"}
    await _with(api, spec={"type": "object", "properties": {"a": {"type": "string", "x-kubernetes-list-type": "set"}}})
    keyed = {"type": "array", "items": {"type": "object"}, "x-kubernetes-list-type": "map"}
    await _with(api, spec={"type": "object", "properties": {"a": keyed}})
    await _with(
        api,
        spec={
            "type": "object",
            "properties": {"a": {"type": "array", "items": strings, "x-kubernetes-list-type": "bag"}},
        },
    )


async def unknown_fields(api: Player) -> None:
    made = definition("Odd", {"type": "object", "propertis": {}})
    made["spec"]["versions"][0]["columns"] = []
    await api.post(DEFINITIONS, made, fieldValidation="Strict")
    await api.post(DEFINITIONS, made, fieldValidation="Warn", dryRun="All")
