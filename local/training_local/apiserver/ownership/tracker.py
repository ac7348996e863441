"""The account of who owns which fields of the stored objects.

It is kept lazily: a write is only noted, and what it means for ownership is worked out on demand. Objects that
the server itself makes have no account until a client applies something to them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from training_local.apiserver.builtin.schemas import go_types
from training_local.apiserver.catalog import Catalog
from training_local.apiserver.errors import Json
from training_local.apiserver.ownership import elements, merge
from training_local.apiserver.ownership.field_set import FieldSet
from training_local.apiserver.ownership.levels import Level, root
from training_local.apiserver.ownership.managed import UNMANAGED, BadEntries, Managed, is_reset
from training_local.apiserver.ownership.origin import Note
from training_local.apiserver.ownership.typed import BadItem
from training_local.apiserver.resource_types import ResourceType
from training_local.apiserver.storage import Change, Storage, StoreKey, decode, encode

NOTES_LIMIT = 32
"""Writes of one object that wait to be worked out; more are worked out at once, so that memory stays bounded."""
_NOT_IN_STATUS: Mapping[StoreKey, Sequence[str]] = {
    ("", "pods"): ("metadata.deletionTimestamp", "metadata.ownerReferences"),
    ("apiextensions.k8s.io", "customresourcedefinitions"): ("metadata",),
}
"""What a request to the status cannot set besides the spec."""


@dataclass(slots=True)
class _Page:
    managed: Managed = UNMANAGED
    notes: list[Note] = field(default_factory=list)
    shown: bytes | None = None


class Ledger:
    """Keeps account of the owners of all objects' fields."""

    def __init__(self, catalog: Catalog, storage: Storage) -> None:
        self._catalog = catalog
        self._storage = storage
        self._pages: dict[str, _Page] = {}
        self._roots: dict[tuple[str, str, str], Level] = {}
        storage.observers.append(self._observe)

    def restore(self, notes: Iterable[tuple[str, Note]]) -> None:
        """Take over what was kept of an earlier life, by uid in the order of the writes."""
        for uid, note in notes:
            self._pages.setdefault(uid, _Page()).notes.append(note)

    def owners(self, uid: str) -> Managed:
        """Return the owners of an object's fields."""
        page = self._pages.get(uid)
        return UNMANAGED if page is None else self._work_out(page)

    def shown(self, uid: str) -> bytes:
        """Return `metadata.managedFields` of an object as JSON, nothing if there are no owners."""
        if (page := self._pages.get(uid)) is None:
            return b""
        if page.shown is None:
            managed = self._work_out(page)
            page.shown = encode(managed.entries()) if managed else b""
        return page.shown

    def after(self, managed: Managed, note: Note) -> Managed:
        """Return the owners after a write."""
        origin, type = note.origin, self._catalog.find(*note.origin.resource)
        if origin.owners is not None or type is None:
            return managed if origin.owners is None else origin.owners
        if origin.given is not None and not origin.subresource:
            managed = _given(origin.given, managed)
        if not managed and note.live is not None:
            return managed  # owners are not recorded before the first apply
        live = zero(type) if note.live is None else _served(type, note.live)
        new = _served(type, note.stored) if origin.new is None else decode(origin.new)
        try:
            return merge.update(live, new, managed, self.request(type, origin.manager, origin.time, origin.subresource))
        except BadItem:
            return UNMANAGED

    def request(self, type: ResourceType, manager: str, time: str, subresource: str) -> merge.Request:
        """Return what merging must know of a request."""
        ignored = ignored_fields(type, subresource)
        return merge.Request(type.api_version, manager, time, subresource, ignored, self._shapes(type))

    def _observe(self, _: StoreKey, change: Change) -> None:
        uid, origin = change.new.uid, change.new.origin
        if change.type == "DELETED":
            self._pages.pop(uid, None)
        elif origin is not None:
            if (page := self._pages.get(uid)) is None:
                page = self._pages[uid] = _Page()
            page.notes.append(Note(origin, change.old.raw if change.old else None, change.new.raw))
            page.shown = None
            if len(page.notes) > NOTES_LIMIT:
                managed = self._work_out(page)
                if self._storage.log is not None:
                    self._storage.log.own(uid, managed.entries())

    def _work_out(self, page: _Page) -> Managed:
        for note in page.notes:
            page.managed = self.after(page.managed, note)
        page.notes.clear()
        return page.managed

    def _shapes(self, type: ResourceType) -> Callable[[str], merge.Shape | None]:
        def find(version: str) -> ResourceType | None:
            if version == type.api_version:
                return type
            found = self._catalog.of_kind(version, type.kind)
            return found if found is not None and found.store == type.store else None

        def shape(version: str) -> merge.Shape | None:
            if (wanted := find(version)) is None:
                return None
            return merge.Shape(self._root(wanted), lambda obj: _converted(obj, find(obj["apiVersion"]), wanted))

        return shape

    def _root(self, type: ResourceType) -> Level:
        """Return the place of whole objects of a type; that of a custom one is kept as long as its schema lives."""
        if not type.custom:
            return root(type)
        known = self._roots.get(key := (type.group, type.version, type.kind))
        if known is None or known.schema is not type.schema:
            known = self._roots[key] = root(type)
        return known


def _served(type: ResourceType, raw: bytes) -> Json:
    obj = decode(raw)
    return type.conversion.from_storage(obj) if type.conversion else obj


def _given(entries: Sequence[Json], managed: Managed) -> Managed:
    """Return the owners that a request names; those there were if it names none that can be understood."""
    if is_reset([*entries]):
        return UNMANAGED
    try:
        return Managed.read(entries) or managed
    except BadEntries:
        return managed


def _converted(obj: Json, given: ResourceType | None, wanted: ResourceType) -> Json:
    if given is None or given is wanted:
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
