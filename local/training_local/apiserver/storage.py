"""Stored objects, the counter of resource versions that all of them share, and the history that watches replay."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, Protocol

import msgspec

from training_local.apiserver.errors import Json
from training_local.apiserver.ownership.origin import Origin

encode = msgspec.json.Encoder().encode
decode: Callable[[bytes | str], Json] = msgspec.json.Decoder(dict).decode

EventType = Literal["ADDED", "MODIFIED", "DELETED"]

HISTORY_LENGTH = 8192
"""Changes that a collection remembers at most."""
HISTORY_SECONDS = 300.0
"""How long a change is remembered, as the API server's compaction of etcd has it."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One state of an object: its JSON text, and what the server asks about it again and again."""

    namespace: str
    name: str
    uid: str
    version: int
    labels: Mapping[str, str]
    owners: tuple[str, ...]
    """Uids in `metadata.ownerReferences`."""
    finalizers: tuple[str, ...]
    deleting: bool
    raw: bytes
    origin: Origin | None = None
    """The request that led to this state; None for what the server itself does."""

    @classmethod
    def of(cls, obj: Json, version: int, origin: Origin | None = None) -> Entry:
        """Return the entry for `obj`, which gets `version` as its resource version."""
        meta = obj["metadata"]
        meta["resourceVersion"] = str(version)
        return cls(
            namespace=meta.get("namespace", ""),
            name=meta["name"],
            uid=meta.get("uid", ""),
            version=version,
            labels=meta.get("labels") or {},
            owners=tuple(owner.get("uid", "") for owner in meta.get("ownerReferences") or ()),
            finalizers=tuple(meta.get("finalizers") or ()),
            deleting="deletionTimestamp" in meta,
            # Kind and version come first, so that lists of builtin types can leave them out; then the metadata, so
            # that managed fields can be put in.
            raw=encode({"kind": obj["kind"], "apiVersion": obj["apiVersion"], "metadata": meta, **obj}),
            origin=origin,
        )

    @property
    def key(self) -> str:
        """Return what lists are sorted by."""
        return f"{self.namespace}/{self.name}"

    def object(self) -> Json:
        """Return a fresh copy of the object."""
        return decode(self.raw)


@dataclass(frozen=True)
class Change:
    """One write to a collection; for a deletion `new` is the last state under the version of the deletion."""

    version: int
    type: EventType
    new: Entry
    old: Entry | None
    at: float
    lines: dict[object, bytes] = field(default_factory=dict)
    """Watch lines made from this change already, shared by all watches."""

    @cached_property
    def new_object(self) -> Json:
        """The new state, decoded once; not to be changed."""
        return self.new.object()

    @cached_property
    def old_object(self) -> Json | None:
        """The state before, decoded once; not to be changed."""
        return self.old.object() if self.old else None


class Compacted(Exception):
    """The state or the changes asked for are no longer known; `oldest` is the first version that is."""

    def __init__(self, oldest: int) -> None:
        super().__init__(oldest)
        self.oldest = oldest


class Collection:
    """The objects of one resource with their recent history."""

    def __init__(self, begin: int = 0) -> None:
        self.spaces: dict[str, dict[str, Entry]] = {}
        self.history: deque[Change] = deque()
        self.compacted = begin
        """The highest version whose change is forgotten."""
        self.subscribers: dict[Callable[[Change], None], Callable[[], None]] = {}
        """What is called with each change -> what ends the subscription."""

    def get(self, namespace: str, name: str) -> Entry | None:
        """Return the current state of an object."""
        return self.spaces.get(namespace, {}).get(name)

    def entries(self, namespace: str | None = None, at: int | None = None) -> list[Entry]:
        """Return the objects of one namespace or of all, sorted as etcd sorts them, now or as of version `at`.

        Raises Compacted if the history does not reach back to `at`.
        """
        if at is None or not self.history or self.history[-1].version <= at:
            self._require(at)
            spaces = self.spaces.values() if namespace is None else (self.spaces.get(namespace, {}),)
            found = [entry for space in spaces for entry in space.values()]
        else:
            found = [entry for entry in self._as_of(at) if namespace is None or entry.namespace == namespace]
        return sorted(found, key=lambda entry: entry.key)

    def since(self, version: int) -> Iterator[Change]:
        """Return the changes after `version`, oldest first; raises Compacted if some are forgotten."""
        self._require(version)
        newer: list[Change] = []
        for change in reversed(self.history):
            if change.version <= version:
                break
            newer.append(change)
        return reversed(newer)

    def record(self, change: Change) -> None:
        """Make `change` the latest one and notify the subscribers."""
        space = self.spaces.setdefault(change.new.namespace, {})
        if change.type == "DELETED":
            del space[change.new.name]
            if not space:
                del self.spaces[change.new.namespace]
        else:
            space[change.new.name] = change.new
        self.history.append(change)
        while len(self.history) > HISTORY_LENGTH or change.at - self.history[0].at > HISTORY_SECONDS:
            self.compacted = self.history.popleft().version
        for notify in tuple(self.subscribers):
            notify(change)

    def forget(self, version: int) -> None:
        """Forget the changes up to and including `version`."""
        while self.history and self.history[0].version <= version:
            self.history.popleft()
        self.compacted = max(self.compacted, version)

    def _require(self, version: int | None) -> None:
        if version is not None and version < self.compacted:
            raise Compacted(self.compacted)

    def _as_of(self, version: int) -> list[Entry]:
        self._require(version)
        state = {entry.key: entry for space in self.spaces.values() for entry in space.values()}
        for change in reversed(self.history):
            if change.version <= version:
                break
            if change.old is None:
                del state[change.new.key]
            else:
                state[change.new.key] = change.old
        return list(state.values())


StoreKey = tuple[str, str]
"""Group and plural."""


class Log(Protocol):
    """Where writes are kept beyond the life of the process; a write it raises for has not happened."""

    def put(self, key: StoreKey, entry: Entry) -> None:
        """Keep a new or changed object."""
        ...

    def remove(self, key: StoreKey, entry: Entry) -> None:
        """Forget an object, but not the version of its deletion."""
        ...

    def own(self, uid: str, entries: list[Json]) -> None:
        """Keep the owners of an object's fields in place of what led to them."""
        ...


class Storage:
    """All collections, and the one counter that versions every write."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self.version = 1
        self.collections: dict[StoreKey, Collection] = {}
        self.observers: list[Callable[[StoreKey, Change], None]] = []
        self.log: Log | None = None
        self._clock = clock
        self._begin = 0

    def restore(self, entries: Iterable[tuple[StoreKey, Entry]], version: int) -> None:
        """Take over what was kept of an earlier life that ended at `version`; its history is forgotten."""
        self.version = self._begin = max(version, self.version)
        for key, entry in entries:
            self.collection(key).spaces.setdefault(entry.namespace, {})[entry.name] = entry
            change = Change(entry.version, "ADDED", entry, None, self._clock())
            for notify in self.observers:
                notify(key, change)

    def collection(self, key: StoreKey) -> Collection:
        """Return the collection of a resource; it exists from the first question on."""
        if (found := self.collections.get(key)) is None:
            found = self.collections[key] = Collection(self._begin)
        return found

    def put(self, key: StoreKey, obj: Json, origin: Origin | None = None) -> Entry:
        """Store a new or changed object; its resource version is set in place."""
        collection = self.collection(key)
        old = collection.get(obj["metadata"].get("namespace", ""), obj["metadata"]["name"])
        return self._write(key, "ADDED" if old is None else "MODIFIED", obj, old, origin)

    def remove(self, key: StoreKey, entry: Entry) -> Entry:
        """Remove an object; returns its last state under the version of the deletion."""
        return self._write(key, "DELETED", entry.object(), entry)

    def compact(self, version: int) -> None:
        """Forget the changes up to and including `version` in every collection."""
        for collection in self.collections.values():
            collection.forget(version)

    def drop(self, key: StoreKey) -> None:
        """Forget an empty collection and its history, as when its CustomResourceDefinition goes."""
        self.end_watches(key)
        self.collections.pop(key, None)

    def end_watches(self, key: StoreKey) -> None:
        """End all watches of a collection; clients begin new ones if they want to go on."""
        for end in tuple(self.collection(key).subscribers.values()):
            end()

    def _write(
        self, key: StoreKey, type: EventType, obj: Json, old: Entry | None, origin: Origin | None = None
    ) -> Entry:
        entry = Entry.of(obj, self.version + 1, origin)
        if self.log is not None:
            (self.log.remove if type == "DELETED" else self.log.put)(key, entry)
        self.version = entry.version
        change = Change(self.version, type, entry, old, self._clock())
        self.collection(key).record(change)
        for notify in self.observers:
            notify(key, change)
        return entry
