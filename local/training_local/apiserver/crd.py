"""CustomResourceDefinitions turned into resource types."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import msgspec

from training_local.apiserver.builtin.columns import NAME
from training_local.apiserver.custom.json_path import JsonPath
from training_local.apiserver.custom.rules import RuleTree
from training_local.apiserver.custom.schema_validation import schema_causes, uniqueness_causes
from training_local.apiserver.custom.structural import Structural, compiled_schema, shape
from training_local.apiserver.errors import Cause, Json, invalid
from training_local.apiserver.ownership.fit import go_text, go_type
from training_local.apiserver.resource_types import (
    Admitted,
    Column,
    Context,
    Decoded,
    ResourceType,
    ScalePaths,
)
from training_local.durations import age

BLOCKING = (
    "FieldValueNotSupported",
    "FieldValueRequired",
    "FieldValueTooLong",
    "FieldValueTooMany",
    "FieldValueTypeInvalid",
)
"""Causes after which CEL rules are not tried."""
NOT_TRIED = (
    "some validation rules were not checked because the object was invalid; correct the existing errors to complete "
    "validation"
)
AGE_COLUMN = {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}
INT32_MAX = 2**31 - 1


@dataclass(frozen=True)
class CustomRules:
    """The rules of one version of a custom resource; `Rules` of `resource_types`."""

    structural: Structural
    rules: RuleTree
    has_status: bool
    scale: ScalePaths | None

    def decode(self, obj: Json, *, keep_nulls: bool = False) -> Decoded:
        """See `Rules.decode`."""
        dropped = shape(self.structural, obj, keep_nulls=keep_nulls)
        return Decoded(obj, tuple(f'unknown field "{path}"' for path in dropped))

    def for_create(self, obj: Json, context: Context) -> Admitted:
        """See `Rules.for_create`."""
        if self.has_status:
            obj.pop("status", None)
        return self._admitted(obj, None)

    def for_update(self, old: Json, new: Json, subresource: str, context: Context) -> Admitted:
        """See `Rules.for_update`."""
        if subresource == "status":
            rest = {key: value for key, value in old.items() if key != "status"}
            new = {**rest, "status": new["status"]} if "status" in new else rest
            admitted = self._admitted(new, old)
            return replace(admitted, causes=tuple(map(_within_status, admitted.causes)))
        elif self.has_status:
            new.pop("status", None)
            if "status" in old:
                new["status"] = old["status"]
        return self._admitted(new, old)

    def _admitted(self, obj: Json, old: Json | None) -> Admitted:
        causes = list(schema_causes(self.structural, obj, old))
        causes += self._scale_causes(obj)
        causes += _only_new(uniqueness_causes(self.structural, obj), self.structural, old)
        if any(cause.reason in BLOCKING for cause in causes):
            causes += [invalid("<nil>", None, NOT_TRIED)] if self.rules else []
        else:
            causes += self.rules.causes(obj, old)
        return Admitted(obj, tuple(causes))

    def _scale_causes(self, obj: Json) -> Iterator[Cause]:
        for path in (self.scale.replicas, self.scale.status_replicas) if self.scale else ():
            for count in JsonPath(path).find(obj):
                if not isinstance(count, int) or isinstance(count, bool):
                    said = f"{path} accessor error: {go_text(count)} is of the type {go_type(count)}, expected int64"
                    yield invalid(path, 0, said)
                elif count < 0:
                    yield invalid(path, count, "should be a non-negative integer")
                elif count > INT32_MAX:
                    yield invalid(path, count, f"should be less than or equal to {INT32_MAX}")


def _within_status(cause: Cause) -> Cause:
    """Return a cause in the words for requests to the status, which is all that the schema is applied to."""
    inner = cause.field.removeprefix("status").removeprefix(".")
    return replace(cause, message=cause.message.replace(f": {cause.field} in body", f": {inner} in body"))


def _only_new(causes: Iterator[Cause], structural: Structural, old: Json | None) -> Iterator[Cause]:
    """Let pass what was wrong before."""
    before = set(uniqueness_causes(structural, old)) if old is not None else set()
    return (cause for cause in causes if cause not in before)


class _SameShape:
    """Conversion between the versions of a custom resource: all have one shape (strategy None)."""

    def __init__(self, served: str, stored: str) -> None:
        self._served, self._stored = served, stored

    def to_storage(self, obj: Json) -> Json:
        """See `Conversion.to_storage`."""
        return {**obj, "apiVersion": self._stored}

    def from_storage(self, obj: Json) -> Json:
        """See `Conversion.from_storage`."""
        return {**obj, "apiVersion": self._served}


def crd_types(crd: Json) -> tuple[ResourceType, ...]:
    """Return a resource type for each served version of a CRD."""
    spec = crd["spec"]
    stored = next(version["name"] for version in spec["versions"] if version["storage"])
    return tuple(_type(spec, version, stored) for version in spec["versions"] if version["served"])


def _type(spec: Json, version: Json, stored: str) -> ResourceType:
    names, group, name = spec["names"], spec["group"], version["name"]
    schema = version.get("schema", {}).get("openAPIV3Schema", {"x-kubernetes-preserve-unknown-fields": True})
    structural, rules = _compiled(msgspec.json.encode(schema))
    subresources = version.get("subresources", {})
    scale = _scale(subresources["scale"]) if "scale" in subresources else None
    conversion = _SameShape(f"{group}/{name}", f"{group}/{stored}") if name != stored else None
    return ResourceType(
        group=group,
        version=name,
        kind=names["kind"],
        plural=names["plural"],
        singular=names.get("singular") or names["kind"].lower(),
        rules=CustomRules(structural, rules, "status" in subresources, scale),
        namespaced=spec["scope"] == "Namespaced",
        list_kind=names.get("listKind", ""),
        short_names=tuple(names.get("shortNames", ())),
        categories=tuple(names.get("categories", ())),
        subresources=frozenset(each for each in ("status", "scale") if each in subresources),
        generation=True,
        unconditional_update=False,
        selectable={
            each["jsonPath"].removeprefix("."): _as_text(JsonPath(each["jsonPath"]))
            for each in version.get("selectableFields", ())
        },
        columns=(NAME, *(_column(each) for each in version.get("additionalPrinterColumns") or (AGE_COLUMN,))),
        schema=schema,
        scale=scale,
        conversion=conversion,
        custom=True,
        stored_version=stored,
    )


@lru_cache(maxsize=64)
def _compiled(schema: bytes) -> tuple[Structural, RuleTree]:
    structural = compiled_schema(schema)
    return structural, RuleTree(structural)


def _scale(declared: Json) -> ScalePaths:
    return ScalePaths(
        declared["specReplicasPath"], declared["statusReplicasPath"], declared.get("labelSelectorPath", "")
    )


def _as_text(path: JsonPath) -> Callable[[Json], str]:
    def text(obj: Json) -> str:
        found = path.find(obj)
        return _printed(found[0]) if found else ""

    return text


def _printed(value: Any) -> str:
    if isinstance(value, str):
        return value
    return msgspec.json.encode(value).decode()


def _column(declared: Json) -> Column:
    path, kind = JsonPath(declared["jsonPath"]), declared["type"]

    def cell(obj: Json, now: str) -> Any:
        found = path.find(obj)
        return _cell(kind, found[0], now) if found else None

    return Column(
        declared["name"],
        kind,
        cell,
        format=declared.get("format", ""),
        description=declared.get("description", ""),
        priority=declared.get("priority", 0),
    )


def _cell(kind: str, value: Any, now: str) -> Any:
    if kind == "string":
        return _printed(value)
    if kind == "date":
        try:
            return age(value, now) if isinstance(value, str) else None
        except ValueError:
            return "<invalid>"
    if kind == "boolean" or isinstance(value, bool):
        return value if kind == "boolean" and isinstance(value, bool) else None
    if isinstance(value, (int, float)):
        return int(value) if kind == "integer" else float(value)
    return None
