"""Strategic merge patch: a merge patch in which lists of builtin types are merged by key, as the schema says."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy
from typing import Any

from training_local.apiserver.errors import Json
from training_local.apiserver.ownership.fit import go_text

DIRECTIVE = "$patch"
RETAIN_KEYS = "$retainKeys"
DELETE_FROM = "$deleteFromPrimitiveList/"
ELEMENT_ORDER = "$setElementOrder/"


class BadPatch(Exception):
    """A patch with invalid directives; `server_error` means that the real server answers 500 to it."""

    def __init__(self, said: str, *, server_error: bool = False) -> None:
        super().__init__(said)
        self.server_error = server_error


class StrategicMerge:
    """Merges patches into objects of one type."""

    def __init__(self, resolve: Callable[[str], Json]) -> None:
        self._resolve = resolve

    def merge(self, original: Json, patch: Json, schema: Json) -> Json:
        """Return `original`, which is taken over, with `patch` merged into it."""
        schema = self._full(schema)
        patch = dict(patch)
        match patch.pop(DIRECTIVE, "merge"):
            case "replace":
                return {key: _without_directives(value) for key, value in patch.items() if not _is_directive(key)}
            case "delete":
                return {}
            case "merge":
                pass
            case other:
                raise _unknown_directive({DIRECTIVE: other, **patch})
        _retain(original, patch)
        orders = _taken(patch, ELEMENT_ORDER)
        self._delete_from_lists(original, _taken(patch, DELETE_FROM))
        for key, value in patch.items():
            self._merge_field(original, key, value, schema, orders.pop(key, None))
        for key, order in orders.items():
            # Nothing of the list changes but its order.
            if isinstance(original.get(key), list):
                self._merge_field(original, key, [], schema, order)
        return original

    def _full(self, schema: Json) -> Json:
        return self._resolve(schema["$ref"]) if "$ref" in schema else schema

    def _delete_from_lists(self, original: Json, deletions: Json) -> None:
        for key, gone in deletions.items():
            if isinstance(original.get(key), list):
                original[key] = [item for item in original[key] if item not in gone]

    def _merge_field(self, original: Json, key: str, value: Any, schema: Json, order: list[Any] | None) -> None:
        known = schema.get("properties", {}).get(key) or schema.get("additionalProperties") or {}
        strategies = known.get("x-kubernetes-patch-strategy", "").split(",")
        now: Any = original.get(key)
        if value is None:
            original.pop(key, None)
        elif key not in original or type(now) is not type(value):
            original[key] = _without_directives(value)
        elif isinstance(value, dict) and "replace" not in strategies:
            original[key] = self.merge(now, value, known)
        elif isinstance(value, list) and "merge" in strategies:
            original[key] = self._merge_list(now, value, known, order)
        else:
            original[key] = _without_directives(value)

    def _merge_list(self, now: list[Any], changes: list[Any], schema: Json, order: list[Any] | None) -> list[Any]:
        key = schema.get("x-kubernetes-patch-merge-key")
        if key is None:
            merged = [*now, *(item for item in changes if item not in now)]
            return _ordered(merged, changes if order is None else order, now, lambda item: item)
        server_order = [_key_of(item, key) for item in now]
        merged, replace = [*now], False
        updates: list[Json] = []
        for change in changes:
            match change.get(DIRECTIVE, "merge"):
                case "replace":
                    replace = True
                case "delete":
                    merged = [item for item in merged if _key_of(item, key) != _key_of(change, key)]
                case "merge":
                    updates.append({name: value for name, value in change.items() if name != DIRECTIVE})
                case _:
                    raise _unknown_directive(change)
        if replace:
            return [_without_directives(update) for update in updates]
        items = self._full(schema["items"])
        for update in updates:
            self._merge_item(merged, update, key, items)
        wanted = [_key_of(item, key) for item in (updates if order is None else order)]
        return _ordered(merged, wanted, server_order, lambda item: _key_of(item, key))

    def _merge_item(self, merged: list[Json], update: Json, key: str, items: Json) -> None:
        wanted = _key_of(update, key)
        for index, item in enumerate(merged):
            if _key_of(item, key) == wanted:
                merged[index] = self.merge(item, update, items)
                return
        merged.append(_without_directives(update))


def _key_of(item: Json, key: str) -> Any:
    if key not in item:
        raise BadPatch(f"map: {go_text(item)} does not contain declared merge key: {key}", server_error=True)
    return item[key]


def _unknown_directive(patch: Json) -> BadPatch:
    return BadPatch(f"unknown patch type: {patch[DIRECTIVE]} in map: {go_text(patch)}", server_error=True)


def _taken(patch: Json, prefix: str) -> dict[str, Any]:
    """Take the directives with a prefix out of a patch; return them by the field that they are about."""
    return {name.removeprefix(prefix): patch.pop(name) for name in [*patch] if name.startswith(prefix)}


def _retain(original: Json, patch: Json) -> None:
    kept = patch.pop(RETAIN_KEYS, None)
    if kept is None:
        return
    if not isinstance(kept, list):
        raise BadPatch("invalid patch format of retainKeys")
    for key in [key for key in original if key not in kept]:
        del original[key]


def _ordered(
    merged: Sequence[Any], wanted: Sequence[Any], server: Sequence[Any], key: Callable[[Any], Any]
) -> list[Any]:
    """Sort what the patch names as it says; the server's other items keep their places as well as that allows."""
    named = sorted((item for item in merged if key(item) in wanted), key=lambda item: wanted.index(key(item)))
    others = sorted((item for item in merged if key(item) not in wanted), key=lambda item: server.index(key(item)))
    result: list[Any] = []
    while named and others:
        first, second = key(others[0]), key(named[0])
        others_first = second in server and server.index(first) < server.index(second)
        result.append(others.pop(0) if others_first else named.pop(0))
    return [*result, *others, *named]


def _without_directives(value: Any) -> Any:
    """Copy a value of a patch that meets nothing to merge with."""
    if isinstance(value, dict):
        return {key: _without_directives(inner) for key, inner in value.items() if not _is_directive(key)}
    if isinstance(value, list):
        return [_without_directives(item) for item in _living(value)]
    return deepcopy(value)


def _living(items: Iterable[Any]) -> Iterable[Any]:
    return (item for item in items if not (isinstance(item, dict) and DIRECTIVE in item and item[DIRECTIVE] != "merge"))


def _is_directive(key: str) -> bool:
    return key in (DIRECTIVE, RETAIN_KEYS) or key.startswith((DELETE_FROM, ELEMENT_ORDER))
