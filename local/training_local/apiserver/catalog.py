"""Which resource types the server serves at the moment."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from training_local.apiserver.resource_types import ResourceType
from training_local.apiserver.storage import StoreKey


class Catalog:
    """The served resource types, found by path, by kind or by store."""

    def __init__(self, types: Iterable[ResourceType]) -> None:
        self._by_path: dict[tuple[str, str, str], ResourceType] = {}
        self._by_kind: dict[tuple[str, str], ResourceType] = {}
        self._by_store: dict[StoreKey, ResourceType] = {}
        for type in types:
            self.add(type)

    def __iter__(self) -> Iterator[ResourceType]:
        return iter(self._by_path.values())

    def add(self, type: ResourceType) -> None:
        """Serve a type, in place of one with the same group, version and plural."""
        self._by_path[type.group, type.version, type.plural] = type
        self._by_kind[type.api_version, type.kind] = type
        if type.stored_as is None:
            self._by_store[type.store] = type

    def remove(self, group: str, plural: str) -> None:
        """Stop serving a resource in all versions."""
        kept = [type for type in self if (type.group, type.plural) != (group, plural)]
        self.__init__(kept)  # type: ignore[misc]  # the three indexes are rebuilt together

    def find(self, group: str, version: str, plural: str) -> ResourceType | None:
        """Return the type that a URL means."""
        return self._by_path.get((group, version, plural))

    def of_kind(self, api_version: str, kind: str) -> ResourceType | None:
        """Return the type that `apiVersion` and `kind` of an object mean."""
        return self._by_kind.get((api_version, kind))

    def of_store(self, key: StoreKey) -> ResourceType | None:
        """Return a type that is stored under `key` in its own form."""
        return self._by_store.get(key)
