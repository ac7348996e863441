"""What all verbs and background work share: storage, served types, time and randomness."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from functools import lru_cache
from random import Random

from training_local.apiserver.catalog import Catalog
from training_local.apiserver.errors import ApiError, Json, not_found
from training_local.apiserver.ownership.tracker import Ledger
from training_local.apiserver.resource_types import Context, ResourceType
from training_local.apiserver.storage import Entry, Storage

_SUFFIX_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
_SUFFIX_LENGTH = 5


class State:
    """The state of one API server."""

    def __init__(self, catalog: Catalog, now: Callable[[], datetime], rng: Random) -> None:
        self.catalog = catalog
        self.now = now
        self.rng = rng
        self.storage = Storage(clock=lambda: now().timestamp())
        self.ledger = Ledger(catalog, self.storage)

    def timestamp(self, seconds_ahead: float = 0) -> str:
        """Return the time as objects carry it: RFC 3339, UTC, whole seconds."""
        return _rfc3339(int(self.now().timestamp() + seconds_ahead))

    def new_uid(self) -> str:
        """Return a random UUID, version 4."""
        return str(uuid.UUID(int=self.rng.getrandbits(128), version=4))

    def generated_name(self, base: str) -> str:
        """Return `base`, cut to 58 characters, with a random suffix, as `generateName` asks for."""
        return base[: 63 - _SUFFIX_LENGTH] + "".join(self.rng.choices(_SUFFIX_LETTERS, k=_SUFFIX_LENGTH))

    def context(self, namespace: str) -> Context:
        """Return what rules may ask in a request to `namespace`."""
        return Context(now=self.timestamp(), namespace=namespace, lookup=self.lookup)

    def lookup(self, group: str, plural: str, namespace: str, name: str) -> Json | None:
        """Return a copy of a stored object, or None."""
        entry = self.storage.collection((group, plural)).get(namespace, name)
        return entry.object() if entry else None

    def find(self, type: ResourceType, namespace: str, name: str) -> Entry | None:
        """Return a stored object's entry, or None."""
        return self.storage.collection(type.store).get(namespace, name)

    def require(self, type: ResourceType, namespace: str, name: str) -> Entry:
        """Return a stored object's entry; raises a 404 if there is none."""
        if (entry := self.find(type, namespace, name)) is None:
            raise self.missing(type, name)
        return entry

    def missing(self, type: ResourceType, name: str) -> ApiError:
        """Return the 404 for an object of `type`."""
        return not_found(type.group, type.plural, name)


@lru_cache(maxsize=8)
def _rfc3339(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def served(type: ResourceType, entry: Entry) -> Json:
    """Return a copy of a stored object as `type` serves it."""
    obj = entry.object()
    return type.conversion.from_storage(obj) if type.conversion else obj


def stored(type: ResourceType, obj: Json) -> Json:
    """Return an object of `type` as it is stored."""
    return type.conversion.to_storage(obj) if type.conversion else obj
