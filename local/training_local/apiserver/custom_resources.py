"""The life of CustomResourceDefinitions: their types are served once established, their objects go with them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from training_local.apiserver.controllers import due_again
from training_local.apiserver.deletion import CLEAN_UP, CRDS, delete, put_or_remove
from training_local.apiserver.errors import Json
from training_local.apiserver.options import DeleteOptions
from training_local.apiserver.resource_types import ResourceType
from training_local.apiserver.state import State
from training_local.apiserver.storage import Change, Entry, StoreKey


class CrdController:
    """Serves the types of all CRDs, reports in their status, and deletes the objects of deleted ones."""

    def __init__(self, state: State, types_of: Callable[[Json], Sequence[ResourceType]]) -> None:
        self._state = state
        self._types_of = types_of
        self._due: dict[str, None] = {}
        self._going: dict[StoreKey, str] = {}
        """Stores to be emptied, with the name of their CRD."""
        self._generations: dict[StoreKey, int] = {}
        """Which generation of its CRD each store was last served in."""

    def observe(self, key: StoreKey, change: Change) -> bool:
        """Take note of a change; returns whether there is work."""
        if key == CRDS:
            self._due[change.new.name] = None
            if change.type == "DELETED":
                self._stop_serving(change.new_object)
            return True
        if change.type == "DELETED" and key in self._going:
            self._due[self._going[key]] = None
            return True
        return False

    def serve_all(self) -> None:
        """Serve the types of all stored CRDs at once, as a restarted server has to before the first request."""
        for entry in self._state.storage.collection(CRDS).entries():
            self._serve_types(entry.object())

    async def work(self) -> None:
        """Bring the CRDs noted to where they should be."""
        while self._due:
            name = next(iter(self._due))
            del self._due[name]
            entry = self._state.storage.collection(CRDS).get("", name)
            if entry is None:
                continue
            with due_again(self._due, name):
                if entry.deleting:
                    self._empty(entry)
                else:
                    self._serve(entry.object())

    def _serve(self, crd: Json) -> None:
        self._serve_types(crd)
        spec, status = crd["spec"], crd.get("status", {})
        now, established = self._state.timestamp(), status.get("conditions")
        wanted: Json = {
            "conditions": established
            or [
                _condition("NamesAccepted", "NoConflicts", "no conflicts found", now),
                _condition("Established", "InitialNamesAccepted", "the initial names have been accepted", now),
            ],
            "acceptedNames": {"listKind": f"{spec['names']['kind']}List", **spec["names"]},
            "storedVersions": _stored_versions(spec, status),
        }
        if status != wanted:
            crd["status"] = wanted
            self._state.storage.put(CRDS, crd)

    def _serve_types(self, crd: Json) -> None:
        key = _store(crd)
        self._state.catalog.remove(*key)
        for type in self._types_of(crd):
            self._state.catalog.add(type)
        generation = crd["metadata"].get("generation", 0)
        if self._generations.setdefault(key, generation) != generation:
            # Watches show objects as the CRD was when they began, so the real server ends them.
            self._generations[key] = generation
            self._state.storage.end_watches(key)

    def _empty(self, entry: Entry) -> None:
        crd = entry.object()
        meta = crd["metadata"]
        if CLEAN_UP not in meta.get("finalizers", ()):
            return
        key = _store(crd)
        self._going[key] = meta["name"]
        type = self._state.catalog.of_store(key)
        collection = self._state.storage.collection(key)
        for each in collection.entries() if type is not None else ():
            if type is not None and not each.deleting:
                delete(self._state, type, each, DeleteOptions())
        if collection.spaces:
            return
        meta["finalizers"].remove(CLEAN_UP)
        own = self._state.catalog.of_store(CRDS)
        if own is not None:
            put_or_remove(self._state, own, entry, crd)

    def _stop_serving(self, crd: Json) -> None:
        key = _store(crd)
        self._going.pop(key, None)
        self._generations.pop(key, None)
        self._state.catalog.remove(*key)
        self._state.storage.drop(key)


def _store(crd: Json) -> StoreKey:
    return crd["spec"]["group"], crd["spec"]["names"]["plural"]


def _condition(type: str, reason: str, message: str, now: str) -> Json:
    return {"type": type, "status": "True", "lastTransitionTime": now, "reason": reason, "message": message}


def _stored_versions(spec: Json, status: Json) -> list[str]:
    seen: list[str] = list(status.get("storedVersions", ()))
    return seen + [v["name"] for v in spec["versions"] if v.get("storage") and v["name"] not in seen]
