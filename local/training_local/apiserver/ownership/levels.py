"""What ownership must know of a schema: which values are atomic, and which fields are the keys of items of lists."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import Any, Literal

from training_local.apiserver.builtin.schemas import component_schemas
from training_local.apiserver.errors import Json
from training_local.apiserver.resource_types import ResourceType

Form = Literal["map", "scalar", "list"]
Scalar = Literal["string", "numeric", "boolean", "untyped"]

OBJECT_META = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
_QUANTITY = "io.k8s.apimachinery.pkg.api.resource.Quantity"
_RAW_EXTENSION = "io.k8s.apimachinery.pkg.runtime.RawExtension"
_KEY_DEFAULTS: Mapping[str, Mapping[str, Any]] = {
    "io.k8s.api.core.v1.ContainerPort": {"protocol": "TCP"},
    "io.k8s.api.core.v1.ServicePort": {"protocol": "TCP"},
}
"""Defaults of fields that are keys of list items; the data file of schemas has no defaults."""
_SCALARS: Mapping[str, Scalar] = {"integer": "numeric", "number": "numeric", "boolean": "boolean"}


@dataclass(frozen=True, eq=False)
class Level:
    """A place in a schema; where it allows several forms, the value decides which one applies."""

    schema: Json
    preserve: bool = False
    """Whether fields that the schema does not name are kept."""
    defaults: Mapping[str, Any] = field(default_factory=dict)
    extra: Mapping[str, Json] = field(default_factory=dict)
    """Fields that all objects have, in schemas that leave them out."""
    any_map_atomic: bool = False

    @cached_property
    def scalar(self) -> Scalar | None:
        """The type of scalars that are allowed, if any."""
        kind = self.schema.get("type", "")
        if kind == "string":
            return "string" if self.schema.get("format", "") in ("", "byte") else "untyped"
        return _SCALARS.get(kind, None if kind else "untyped")

    @cached_property
    def forms(self) -> tuple[Form, ...]:
        """The forms that are allowed, in the order in which one is chosen for an unknown value."""
        kind = self.schema.get("type", "")
        return {"object": ("map",), "array": ("list",), "": ("map", "scalar", "list")}.get(kind, ("scalar",))  # type: ignore[return-value]  # the literals are forms

    @cached_property
    def atomic_map(self) -> bool:
        """Whether a map or object is owned as a whole."""
        return self.any_map_atomic or bool(self.schema.get("x-kubernetes-map-type") == "atomic")

    @cached_property
    def atomic_list(self) -> bool:
        """Whether a list is owned as a whole: all but those of the types `set` and `map`."""
        kind = self.schema.get("x-kubernetes-list-type")
        if kind is None:
            return str(self.schema.get("x-kubernetes-patch-strategy", "")).partition(",")[0] != "merge"
        return bool(kind == "atomic")

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """The fields that are the keys of items of a list; empty for sets."""
        if self.schema.get("x-kubernetes-list-type") is None and "x-kubernetes-patch-merge-key" in self.schema:
            return (self.schema["x-kubernetes-patch-merge-key"],)
        return tuple(self.schema.get("x-kubernetes-list-map-keys", ()))

    @cached_property
    def _fields(self) -> dict[str, Level]:
        return {}

    def declared(self, name: str) -> bool:
        """Return whether the schema names a field."""
        return name in self.extra or name in self.schema.get("properties", ())

    def member(self, name: str) -> Level | None:
        """Return the place of a field or entry; None if there may be none of that name."""
        if not self.declared(name):
            return self.element
        if (known := self._fields.get(name)) is None:
            schema = self.extra.get(name) or self.schema["properties"][name]
            known = self._fields[name] = _inner(schema, self.preserve)
        return known

    @cached_property
    def element(self) -> Level | None:
        """The place of entries that the schema does not name; None if there may be none."""
        additional = self.schema.get("additionalProperties")
        if additional is None:
            return DEDUCED if self.preserve or not self.schema.get("properties") else None
        if additional is True:
            return DEDUCED
        return _inner(additional, self.preserve) if isinstance(additional, dict) else None

    @cached_property
    def items(self) -> Level:
        """The place of the items of a list."""
        return _inner(self.schema["items"], self.preserve) if "items" in self.schema else UNTYPED

    def key_default(self, name: str) -> Any:
        """Return the default of a field of this object that serves as a key, None if it has none."""
        return self.defaults.get(name, self.schema.get("properties", {}).get(name, {}).get("default"))


class _Untyped(Level):
    """A place without a schema: entries of maps are separate fields if it is `deduced`, else all is atomic."""

    @cached_property
    def element(self) -> Level | None:
        """See `Level.element`."""
        return self

    @cached_property
    def items(self) -> Level:
        """See `Level.items`."""
        return UNTYPED


UNTYPED: Level = _Untyped({}, any_map_atomic=True)
DEDUCED: Level = _Untyped({})


def _inner(schema: Json, preserve: bool) -> Level:
    name = schema.get("$ref")
    if name is None and len(joined := schema.get("allOf", ())) == 1:
        name = joined[0].get("$ref")
    if name is None:
        preserve = preserve or bool(schema.get("x-kubernetes-preserve-unknown-fields"))
        return Level(schema, preserve, extra=_COMMON if schema.get("x-kubernetes-embedded-resource") else {})
    found = component(name)
    if "x-kubernetes-map-type" in schema:
        return replace(found, any_map_atomic=schema["x-kubernetes-map-type"] == "atomic")
    return found


_COMMON: Mapping[str, Json] = {
    "apiVersion": {"type": "string"},
    "kind": {"type": "string"},
    "metadata": {"$ref": OBJECT_META},
}


@cache
def component(name: str) -> Level:
    """Return the place of a component of the builtin schemas."""
    if name == _QUANTITY:
        return Level({"type": "string", "format": "quantity"})
    if name == _RAW_EXTENSION:
        return UNTYPED
    return Level(component_schemas()[name], defaults=_KEY_DEFAULTS.get(name, {}))


def root(type: ResourceType) -> Level:
    """Return the place of whole objects of a type."""
    if not type.custom:
        name = getattr(type.rules, "component", "")
        return component(name) if name else DEDUCED
    schema = type.schema or {}
    return Level(schema, bool(schema.get("x-kubernetes-preserve-unknown-fields")), extra=_COMMON)
