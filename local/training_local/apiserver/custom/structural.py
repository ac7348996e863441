"""Structural schemas of custom resources: unknown fields are dropped, nulls that may not be vanish, defaults appear."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import msgspec

from training_local.apiserver.builtin.go_types import Where, path_text
from training_local.apiserver.errors import Json

META_FIELDS = ("apiVersion", "kind", "metadata")


@dataclass(slots=True, eq=False)
class Structural:
    """One level of a structural schema, with the schemas below it."""

    schema: Json
    """The level itself, as written in the CRD."""
    properties: Mapping[str, Structural] = field(default_factory=dict)
    additional: Structural | None = None
    """Schema of the values of a map."""
    any_values: bool = False
    """Whether values of a map are free (`additionalProperties: true`)."""
    items: Structural | None = None
    preserve: bool = False
    embedded: bool = False
    nullable: bool = False
    has_default: bool = False
    defaults: tuple[tuple[str, Any], ...] = ()
    """Properties with a default value."""


def compile_schema(schema: Json) -> Structural:
    """Compile the schema of a CRD's version."""
    properties = {name: compile_schema(inner) for name, inner in schema.get("properties", {}).items()}
    additional, items = schema.get("additionalProperties"), schema.get("items")
    return Structural(
        schema=schema,
        properties=properties,
        additional=compile_schema(additional) if isinstance(additional, dict) else None,
        any_values=additional is True,
        items=compile_schema(items) if isinstance(items, dict) else None,
        preserve=schema.get("x-kubernetes-preserve-unknown-fields") is True,
        embedded=schema.get("x-kubernetes-embedded-resource") is True,
        nullable=schema.get("nullable") is True,
        has_default=schema.get("default") is not None,
        defaults=tuple((name, each.schema["default"]) for name, each in properties.items() if each.has_default),
    )


@lru_cache(maxsize=64)
def compiled_schema(schema: bytes) -> Structural:
    """Compile a schema that is given as JSON; it is checked when its CRD is stored, and serves afterwards."""
    return compile_schema(msgspec.json.decode(schema))


def shape(root: Structural, obj: Json, *, keep_nulls: bool = False) -> list[str]:
    """Bring a custom resource into its shape, in place; return the paths of the fields that were dropped, sorted."""
    dropped: list[str] = []
    _prune_object(root, obj, None, dropped, embedded=True)
    fill(root, obj, keep_nulls=keep_nulls)
    return sorted(dropped)


def _prune(level: Structural, value: Any, where: Where, dropped: list[str]) -> None:
    if isinstance(value, dict):
        _prune_object(level, value, where, dropped, level.embedded)
    elif isinstance(value, list) and level.items is not None:
        for index, item in enumerate(value):
            _prune(level.items, item, (where, index), dropped)


def _prune_object(level: Structural, value: Json, where: Where, dropped: list[str], embedded: bool) -> None:
    unknown: list[str] = []
    for key, inner in value.items():
        if embedded and key in META_FIELDS:
            continue
        known = level.properties.get(key, level.additional)
        if known is not None:
            _prune(known, inner, (where, key), dropped)
        elif not (level.preserve or level.any_values):
            unknown.append(key)
    for key in unknown:
        del value[key]
        dropped.append(path_text((where, key)))


def fill(level: Structural, value: Any, *, keep_nulls: bool = False) -> None:
    """Drop nulls that may not be, and fill in defaults, in place; whole numbers lose their decimal point.

    With `keep_nulls` only those nulls go that a default takes the place of.
    """
    if isinstance(value, dict):
        for key in [key for key, inner in value.items() if inner is None and _may_not_be_null(level, key)]:
            if not keep_nulls or key in dict(level.defaults):
                del value[key]
        for key, inner in value.items():
            if isinstance(inner, float) and inner.is_integer():
                value[key] = int(inner)
        for key, default in level.defaults:
            if key not in value:
                value[key] = deepcopy(default)
        for key, inner in value.items():
            if (known := level.properties.get(key, level.additional)) is not None:
                fill(known, inner, keep_nulls=keep_nulls)
    elif isinstance(value, list) and level.items is not None:
        for index, item in enumerate(value):
            if item is None and level.items.has_default and not level.items.nullable:
                value[index] = deepcopy(level.items.schema["default"])
            fill(level.items, value[index], keep_nulls=keep_nulls)


def _may_not_be_null(level: Structural, key: str) -> bool:
    known = level.properties.get(key, level.additional)
    return known is not None and not known.nullable
