"""Garbage collection by owner references, and the foreground and orphan deletions that wait for it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from training_local.apiserver.controllers import due_again
from training_local.apiserver.deletion import FOREGROUND, ORPHAN, delete, put_or_remove
from training_local.apiserver.errors import Json
from training_local.apiserver.options import DeleteOptions
from training_local.apiserver.state import State
from training_local.apiserver.storage import Change, Entry, StoreKey

_SLICE = 50
"""Objects examined between two turns of the loop."""


@dataclass(frozen=True, slots=True)
class _Place:
    """Where an object is stored."""

    key: StoreKey
    namespace: str
    name: str


class GarbageCollector:
    """Knows who owns what, deletes what has lost its owners, and releases owners that wait for what they own."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._places: dict[str, _Place] = {}
        self._dependents: dict[str, dict[str, None]] = {}
        self._due: dict[str, None] = {}
        self._gone: set[str] = set()
        """Owners that were seen to go while they had dependents; their kind may go with them."""

    def observe(self, key: StoreKey, change: Change) -> bool:
        """Take note of a change; returns whether there is work."""
        new, old = change.new, change.old
        uid = new.uid
        if change.type == "DELETED":
            self._places.pop(uid, None)
            for owner in new.owners:
                self._dependents.get(owner, {}).pop(uid, None)
                if not self._dependents.get(owner):
                    self._gone.discard(owner)
            self._due |= self._dependents.get(uid, {})
            # An owner may be waiting for this one.
            self._due |= dict.fromkeys(new.owners)
            if self._dependents.get(uid):
                self._gone.add(uid)
            else:
                self._dependents.pop(uid, None)
            return bool(self._due)
        self._places[uid] = _Place(key, new.namespace, new.name)
        if old is None or old.owners != new.owners:
            for owner in old.owners if old else ():
                self._dependents.get(owner, {}).pop(uid, None)
                self._due[owner] = None
            for owner in new.owners:
                self._dependents.setdefault(owner, {})[uid] = None
            if new.owners:
                self._due[uid] = None
        if new.deleting and (FOREGROUND in new.finalizers or ORPHAN in new.finalizers):
            self._due[uid] = None
        return bool(self._due)

    async def work(self) -> None:
        """Examine everything that a change has made suspect."""
        done = 0
        while self._due:
            uid = next(iter(self._due))
            del self._due[uid]
            with due_again(self._due, uid):
                if (entry := self._entry(uid)) is not None:
                    self._examine(self._places[uid], entry)
            done += 1
            if done % _SLICE == 0:
                await asyncio.sleep(0)

    def _entry(self, uid: str) -> Entry | None:
        if (place := self._places.get(uid)) is None:
            return None
        return self._state.storage.collection(place.key).get(place.namespace, place.name)

    def _examine(self, place: _Place, entry: Entry) -> None:
        if entry.deleting and ORPHAN in entry.finalizers:
            for dependent in tuple(self._dependents.get(entry.uid, ())):
                self._disown(dependent, {entry.uid})
            self._release(place, entry, ORPHAN)
        elif entry.deleting and FOREGROUND in entry.finalizers:
            blocking = [uid for uid in self._dependents.get(entry.uid, ()) if self._blocks(uid, entry.uid)]
            if blocking:
                self._due |= dict.fromkeys(blocking)
            else:
                self._release(place, entry, FOREGROUND)
        elif entry.owners and not entry.deleting:
            self._check_owners(place, entry)

    def _check_owners(self, place: _Place, entry: Entry) -> None:
        """Delete an object without owners; with some left, only forget those that are gone or going."""
        references: list[Json] = entry.object()["metadata"]["ownerReferences"]
        served = self._state.catalog.of_kind
        if not all(owner["uid"] in self._gone or served(owner["apiVersion"], owner["kind"]) for owner in references):
            return  # An owner of a kind that is not served counts as present, unless its deletion was seen.
        owners = {uid: self._owner(uid, entry) for uid in entry.owners}
        waiting = {uid for uid, owner in owners.items() if owner and owner.deleting and FOREGROUND in owner.finalizers}
        absent = {uid for uid, owner in owners.items() if owner is None}
        solid = owners.keys() - waiting - absent
        if solid:
            if waiting or absent:
                self._disown(entry.uid, waiting | absent)
            return
        foreground = waiting and any(self._blocks(uid, entry.uid) for uid in self._dependents.get(entry.uid, ()))
        if foreground or FOREGROUND in entry.finalizers:
            propagation = "Foreground"
        else:
            propagation = "Orphan" if ORPHAN in entry.finalizers else "Background"
        type = self._state.catalog.of_store(place.key)
        if type is not None:
            delete(self._state, type, entry, DeleteOptions(propagation=propagation))

    def _owner(self, uid: str, dependent: Entry) -> Entry | None:
        """Return a living owner; one in another namespace does not count."""
        owner = self._entry(uid)
        return owner if owner is not None and owner.namespace in ("", dependent.namespace) else None

    def _blocks(self, uid: str, owner: str) -> bool:
        if (entry := self._entry(uid)) is None:
            return False
        references = entry.object()["metadata"].get("ownerReferences", ())
        return any(reference["uid"] == owner and reference.get("blockOwnerDeletion") for reference in references)

    def _disown(self, uid: str, owners: set[str]) -> None:
        """Take owners out of an object's references."""
        place, entry = self._places.get(uid), self._entry(uid)
        if place is None or entry is None:
            return
        obj = entry.object()
        kept = [owner for owner in obj["metadata"]["ownerReferences"] if owner["uid"] not in owners]
        obj["metadata"]["ownerReferences"] = kept
        if not kept:
            del obj["metadata"]["ownerReferences"]
        self._state.storage.put(place.key, obj)

    def _release(self, place: _Place, entry: Entry, finalizer: str) -> None:
        """Take a finalizer off an object, which removes it if that was the last one."""
        obj, type = entry.object(), self._state.catalog.of_store(place.key)
        obj["metadata"]["finalizers"].remove(finalizer)
        if not obj["metadata"]["finalizers"]:
            del obj["metadata"]["finalizers"]
        if type is not None:
            put_or_remove(self._state, type, entry, obj)
