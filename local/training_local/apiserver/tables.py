"""Objects as the rows of a table, for `kubectl get` (meta.k8s.io/v1 Table)."""

from __future__ import annotations

from collections.abc import Sequence

from training_local.apiserver.builtin.columns import DEFAULT_COLUMNS
from training_local.apiserver.builtin.pod_columns import row_conditions
from training_local.apiserver.errors import Json
from training_local.apiserver.resource_types import Column, ResourceType

API_VERSION = "meta.k8s.io/v1"


def to_table(type: ResourceType, objects: Sequence[Json], now: str, include: str) -> Json:
    """Return a table with one row for each object.

    `include` says what comes with a row: "Metadata" (or ""), "Object" or "None"; wide columns are always there, with a
    priority by which clients hide them.
    """
    columns = type.columns or DEFAULT_COLUMNS
    return {
        "kind": "Table",
        "apiVersion": API_VERSION,
        "metadata": {},
        "columnDefinitions": [_definition(column) for column in columns],
        "rows": [_row(type, columns, obj, now, include) for obj in objects],
    }


def _definition(column: Column) -> Json:
    return {
        "name": column.name,
        "type": column.type,
        "format": column.format,
        "description": column.description,
        "priority": column.priority,
    }


def _row(type: ResourceType, columns: Sequence[Column], obj: Json, now: str, include: str) -> Json:
    row: Json = {"cells": [column.value(obj, now) for column in columns]}
    if type.store == ("", "pods") and (conditions := row_conditions(obj)):
        row["conditions"] = conditions
    if include == "Object":
        row["object"] = obj
    elif include != "None":
        row["object"] = {"kind": "PartialObjectMetadata", "apiVersion": API_VERSION, "metadata": obj["metadata"]}
    return row
