"""Who owns which fields of one object, and how that stands in `metadata.managedFields`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from training_local.apiserver.errors import Json
from training_local.apiserver.ownership import elements
from training_local.apiserver.ownership.field_set import FieldSet

Operation = Literal["Apply", "Update"]
FIELDS_TYPE = "FieldsV1"
UPDATERS_LIMIT = 10
"""Entries of the operation Update that an object has at most; older ones are put together."""
ANCIENT = "ancient-changes"
NEVER_OWNED = FieldSet.of(
    *((elements.field(name),) for name in ("apiVersion", "kind", "metadata")),
    *(
        (elements.field("metadata"), elements.field(name))
        for name in (
            "name",
            "namespace",
            "creationTimestamp",
            "selfLink",
            "uid",
            "clusterName",
            "generation",
            "managedFields",
            "resourceVersion",
        )
    ),
)


class BadEntries(ValueError):
    """Entries that say nothing that could be understood; the server then acts as if there were none."""


@dataclass(frozen=True, slots=True)
class Manager:
    """One owner of fields: an applier whatever the version it applies in, or an updater in one version."""

    name: str
    operation: Operation
    version: str = ""
    """The `apiVersion` of an updater; empty for appliers."""
    subresource: str = ""

    def __str__(self) -> str:
        """Return how conflicts name it."""
        named = json.dumps(self.name, ensure_ascii=False)
        if self.subresource:
            named += f" with subresource {json.dumps(self.subresource)}"
        return f"{named} using {self.version}" if self.operation == "Update" else named

    @property
    def identity(self) -> str:
        """Return what conflicts are sorted by."""
        fields = {
            "manager": self.name,
            "operation": self.operation,
            "apiVersion": self.version,
            "subresource": self.subresource,
        }
        return json.dumps({key: value for key, value in fields.items() if value}, separators=(",", ":"))


@dataclass(frozen=True, slots=True)
class Owned:
    """The fields that a manager owns, in the version in which it wrote them."""

    fields: FieldSet
    version: str
    time: str = ""


@dataclass(frozen=True, slots=True)
class Managed:
    """All owners of one object's fields."""

    owners: Mapping[Manager, Owned] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.owners)

    def same_fields(self, other: Managed) -> bool:
        """Return whether two states differ in nothing but times."""
        return _timeless(self) == _timeless(other)

    def entries(self) -> list[Json]:
        """Return the owners as they stand in `metadata.managedFields`."""
        written = [_entry(manager, owned) for manager, owned in self.owners.items()]
        return sorted(written, key=_order)

    @classmethod
    def read(cls, entries: Iterable[Json]) -> Managed:
        """Read entries; raises BadEntries."""
        owners: dict[Manager, Owned] = {}
        for number, entry in enumerate(entries):
            _check(number, entry)
            operation, version = entry["operation"], entry["apiVersion"]
            known_by = version if operation == "Update" else ""
            manager = Manager(entry.get("manager", ""), operation, known_by, entry.get("subresource", ""))
            try:
                fields = FieldSet.read({} if entry.get("fieldsV1") is None else entry["fieldsV1"])
            except (ValueError, RecursionError) as error:
                raise BadEntries(f"fieldsV1 of entry {number}: {error}") from error
            owners[manager] = Owned(fields, version, entry.get("time") or "")
        return cls(owners)


UNMANAGED = Managed()


def is_reset(entries: list[Json]) -> bool:
    """Return whether entries in a request mean that all ownership is to be forgotten: none, or a single empty one."""
    return entries in ([], [{}])


def capped(managed: Managed) -> Managed:
    """Put the oldest updaters together, by version, where there are too many."""
    updaters = [manager for manager in managed.owners if manager.operation == "Update"]
    updaters.sort(key=lambda manager: (managed.owners[manager].time, manager.identity))
    owners, left = dict(managed.owners), len(updaters)
    firsts: dict[str, Manager] = {}
    for manager in updaters:
        if left <= UPDATERS_LIMIT:
            break
        owned = managed.owners[manager]
        bucket = Manager(ANCIENT, "Update", owned.version)
        if (first := firsts.get(owned.version)) is None:
            firsts[owned.version] = manager
            continue
        if bucket not in owners:
            owners[bucket] = owners.pop(first)
        owners[bucket] = Owned(owners[bucket].fields | owned.fields, owned.version, owned.time)
        del owners[manager]
        left -= 1
    return Managed(owners)


def _timeless(managed: Managed) -> dict[Manager, tuple[FieldSet, str]]:
    return {manager: (owned.fields, owned.version) for manager, owned in managed.owners.items()}


def _entry(manager: Manager, owned: Owned) -> Json:
    entry: Json = {
        "manager": manager.name,
        "operation": manager.operation,
        "apiVersion": owned.version,
        "time": owned.time,
        "fieldsType": FIELDS_TYPE,
        "fieldsV1": owned.fields.written(),
        "subresource": manager.subresource,
    }
    return {key: value for key, value in entry.items() if value or key == "fieldsV1"}


def _order(entry: Json) -> tuple[Any, ...]:
    return (
        entry["operation"],
        entry.get("time", ""),
        entry.get("manager", ""),
        entry["apiVersion"],
        entry.get("subresource", ""),
    )


def _check(number: int, entry: Any) -> None:
    if not isinstance(entry, dict) or entry.get("operation") not in ("Apply", "Update"):
        raise BadEntries("operation must be `Apply` or `Update`")
    if not entry.get("apiVersion"):
        raise BadEntries("apiVersion must not be empty")
    if entry.get("fieldsType") != FIELDS_TYPE:
        raise BadEntries(f"missing or invalid fieldsType in managed fields entry {number}")
