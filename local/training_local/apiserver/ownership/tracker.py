"""The account of who owns which fields of the stored objects.

It is kept lazily: a write is only noted, and what it means for ownership is worked out when somebody asks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from training_local.apiserver.builtin.schemas import go_types
from training_local.apiserver.catalog import Catalog
from training_local.apiserver.errors import Json
from training_local.apiserver.ownership import elements, merge
from training_local.apiserver.ownership.field_set import FieldSet
from training_local.apiserver.ownership.levels import root
from training_local.apiserver.ownership.managed import BadEntries, Managed, is_reset
from training_local.apiserver.ownership.typed import BadItem
from training_local.apiserver.resource_types import ResourceType
from training_local.apiserver.storage import Change, Entry, Storage, StoreKey, decode, encode

NOTES_LIMIT = 32
"""Writes of one object that wait to be worked out; more are worked out at once, so that memory stays bounded."""
_NOT_IN_STATUS: Mapping[StoreKey, Sequence[str]] = {
    ("", "pods"): ("metadata.deletionTimestamp", "metadata.ownerReferences"),
    ("apiextensions.k8s.io", "customresourcedefinitions"): ("metadata",),
}
"""What a request to the status cannot set besides the spec."""


class Write(NamedTuple):
    """A create, replace or patch that has been stored, as far as ownership depends on it."""

    type: ResourceType
    live: Entry | None
    """The object before, None if it was created."""
    new: bytes
    """The object as the request wanted it, before admission, as JSON of the request's version."""
    manager: str
    time: str
    subresource: str = ""
    given: list[Json] | None = None
    """`metadata.managedFields` of the request, if it said anything about it."""


@dataclass(slots=True)
class _Page:
    managed: Managed = field(default_factory=Managed)
    notes: list[Write] = field(default_factory=list)
    shown: bytes | None = None


class Ledger:
    """Keeps account of the owners of all objects' fields."""

    def __init__(self, catalog: Catalog, storage: Storage) -> None:
        self._catalog = catalog
        self._pages: dict[str, _Page] = {}
        storage.observers.append(self._forget)

    def note(self, uid: str, write: Write) -> None:
        """Note a write that has been stored; objects that the server itself made have no account."""
        page = self._pages.get(uid)
        if page is None:
            if write.live is not None and not write.given:
                return
            page = self._pages[uid] = _Page()
        page.notes.append(write)
        page.shown = None
        if len(page.notes) > NOTES_LIMIT:
            self._work_out(page)

    def set(self, uid: str, managed: Managed) -> None:
        """Replace the account of an object."""
        self._pages[uid] = _Page(managed)

    def owners(self, uid: str) -> Managed:
        """Return the owners of an object's fields."""
        page = self._pages.get(uid)
        return Managed() if page is None else self._work_out(page)

    def shown(self, uid: str) -> bytes:
        """Return `metadata.managedFields` of an object as JSON, nothing if there are no owners."""
        if (page := self._pages.get(uid)) is None:
            return b""
        if page.shown is None:
            managed = self._work_out(page)
            page.shown = encode(managed.entries()) if managed else b""
        return page.shown

    def after(self, managed: Managed, write: Write) -> Managed:
        """Return the owners after a write."""
        if write.given is not None and not write.subresource:
            managed = _given(write.given, managed)
        if not managed and write.live is not None:
            return managed  # nobody has kept account, and nobody begins before the first apply
        live = zero(write.type) if write.live is None else self._served(write.type, write.live)
        request = self.request(write.type, write.manager, write.time, write.subresource)
        try:
            return merge.update(live, decode(write.new), managed, request)
        except BadItem:
            return Managed()

    def request(self, type: ResourceType, manager: str, time: str, subresource: str) -> merge.Request:
        """Return what merging must know of a request."""
        ignored = ignored_fields(type, subresource)
        return merge.Request(type.api_version, manager, time, subresource, ignored, self._shapes(type))

    def _work_out(self, page: _Page) -> Managed:
        for write in page.notes:
            page.managed = self.after(page.managed, write)
        page.notes.clear()
        return page.managed

    def _shapes(self, type: ResourceType) -> Callable[[str], merge.Shape | None]:
        versions = {each.api_version: each for each in self._catalog if each.store == type.store}
        versions[type.api_version] = type

        def shape(version: str) -> merge.Shape | None:
            wanted = versions.get(version)
            return None if wanted is None else merge.Shape(root(wanted), lambda obj: _converted(obj, versions, wanted))

        return shape

    def _served(self, type: ResourceType, entry: Entry) -> Json:
        obj = entry.object()
        return type.conversion.from_storage(obj) if type.conversion else obj

    def _forget(self, _: StoreKey, change: Change) -> None:
        if change.type == "DELETED":
            self._pages.pop(change.new.uid, None)


def _given(entries: Sequence[Json], managed: Managed) -> Managed:
    """Return the owners that a request names; those there were if it names none that can be understood."""
    if is_reset([*entries]):
        return Managed()
    try:
        return Managed.read(entries) or managed
    except BadEntries:
        return managed


def _converted(obj: Json, versions: dict[str, ResourceType], wanted: ResourceType) -> Json:
    given = versions.get(obj.get("apiVersion", ""), wanted)
    if given is wanted:
        return obj
    stored = given.conversion.to_storage(obj) if given.conversion else obj
    return wanted.conversion.from_storage(stored) if wanted.conversion else stored


def zero(type: ResourceType) -> Json:
    """Return the object that a create starts from: of builtin types with the fields that Go always writes."""
    return {**_zero(getattr(type.rules, "component", "")), "apiVersion": type.api_version, "kind": type.kind}


@lru_cache(maxsize=256)
def _zero(component: str) -> Json:
    found: Json = go_types().decoder(component)({}, None, []) if component else {}
    return found


def ignored_fields(type: ResourceType, subresource: str) -> FieldSet:
    """Return the fields that requests to a type or subresource cannot set, and thus never own."""
    return _ignored(type.store, "status" in type.subresources, subresource)


@lru_cache(maxsize=256)
def _ignored(store: StoreKey, has_status: bool, subresource: str) -> FieldSet:
    if subresource == "status":
        return _paths("spec", *_NOT_IN_STATUS.get(store, ()))
    return _paths("status") if has_status and not subresource else _paths()


def _paths(*names: str) -> FieldSet:
    return FieldSet.of(*(tuple(map(elements.field, name.split("."))) for name in names))
