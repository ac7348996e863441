"""JSON patch (RFC 6902), with the sentences of the real server's library where an operation fails."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from training_local.apiserver.errors import Json

_MISSING = "missing value"
_NO_INDEX = "invalid index referenced"


class PatchError(Exception):
    """An operation that cannot be applied; the text says why."""


class _NoPlace(Exception):
    """What holds the target of a path does not exist."""


def apply_operations(document: Json, operations: list[Json]) -> Any:
    """Return `document`, which is taken over, after all operations; raise `PatchError` at the first that fails."""
    root: Json = {"": document}
    for operation in operations:
        kind = operation.get("op")
        if kind not in _OPERATIONS:
            raise PatchError(f"Unexpected kind: {kind}")
        _OPERATIONS[kind](root, operation)
    return root[""]


def _add(root: Json, operation: Json) -> None:
    path = operation.get("path", "")
    try:
        _insert(*_find(root, path), deepcopy(operation.get("value")))
    except _NoPlace:
        raise PatchError(f'add operation does not apply: doc is missing path: "{path}": {_MISSING}') from None
    except PatchError as error:
        raise PatchError(f"error in add for path: '{path}': {error}") from None


def _remove(root: Json, operation: Json) -> None:
    path = operation.get("path", "")
    try:
        _take(*_find(root, path))
    except _NoPlace:
        raise PatchError(f'remove operation does not apply: doc is missing path: "{path}": {_MISSING}') from None
    except PatchError as error:
        raise PatchError(f"error in remove for path: '{path}': {error}") from None


def _replace(root: Json, operation: Json) -> None:
    path = operation.get("path", "")
    try:
        container, key = _find(root, path)
    except _NoPlace:
        raise PatchError(f"replace operation does not apply: doc is missing path: {path}: {_MISSING}") from None
    try:
        _get(container, key)
    except PatchError:
        raise PatchError(f"replace operation does not apply: doc is missing key: {path}: {_MISSING}") from None
    container[key if isinstance(container, dict) else _index(key, len(container))] = deepcopy(operation.get("value"))


def _move(root: Json, operation: Json) -> None:
    start, path = operation.get("from", ""), operation.get("path", "")
    try:
        container, key = _find(root, start)
    except _NoPlace:
        raise PatchError(f"move operation does not apply: doc is missing from path: {start}: {_MISSING}") from None
    try:
        value = _take(container, key)
    except PatchError as error:
        raise PatchError(f"error in move for path: '{key}': {error}") from None
    try:
        _insert(*_find(root, path), value)
    except _NoPlace:
        said = f"move operation does not apply: doc is missing destination path: {path}: {_MISSING}"
        raise PatchError(said) from None
    except PatchError as error:
        raise PatchError(f"error in move for path: '{path}': {error}") from None


def _copy(root: Json, operation: Json) -> None:
    start, path = operation.get("from", ""), operation.get("path", "")
    try:
        value = _get(*_find(root, start))
    except _NoPlace:
        raise PatchError(f"copy operation does not apply: doc is missing from path: {start}: {_MISSING}") from None
    except PatchError as error:
        raise PatchError(f"error in copy for from: '{start}': {error}") from None
    try:
        _insert(*_find(root, path), deepcopy(value))
    except _NoPlace:
        said = f"copy operation does not apply: doc is missing destination path: {path}: {_MISSING}"
        raise PatchError(said) from None
    except PatchError as error:
        raise PatchError(f"error while adding value during copy: {error}") from None


def _test(root: Json, operation: Json) -> None:
    path, wanted = operation.get("path", ""), operation.get("value")
    try:
        found = _get(*_find(root, path))
    except _NoPlace:
        raise PatchError(f"test operation does not apply: is missing path: {path}: {_MISSING}") from None
    except PatchError as error:
        raise PatchError(f"error in test for path: '{path}': {error}") from None
    # To Python True equals 1.
    if found != wanted or isinstance(found, bool) != isinstance(wanted, bool):
        raise PatchError(f"testing value {path} failed: test failed")


_OPERATIONS = {"add": _add, "remove": _remove, "replace": _replace, "move": _move, "copy": _copy, "test": _test}


def _find(root: Json, path: str) -> tuple[Any, str]:
    """Return the container that a path leads into, and the key there."""
    *parents, key = (part.replace("~1", "/").replace("~0", "~") for part in path.split("/"))
    container: Any = root
    for part in parents:
        try:
            container = _get(container, part)
        except PatchError:
            raise _NoPlace from None
        if not isinstance(container, (dict, list)):
            raise _NoPlace
    return container, key


def _get(container: Any, key: str) -> Any:
    if isinstance(container, dict):
        return container.get(key)
    return container[_index(key, len(container))]


def _index(key: str, length: int) -> int:
    try:
        index = int(key)
    except ValueError:
        raise PatchError(f'strconv.Atoi: parsing "{key}": invalid syntax') from None
    if not -length <= index < length:
        raise PatchError(f"Unable to access invalid index: {index}: {_NO_INDEX}")
    return index if index >= 0 else index + length


def _insert(container: Any, key: str, value: Any) -> None:
    if isinstance(container, dict):
        container[key] = value
    elif key == "-":
        container.append(value)
    else:
        try:
            int(key)
        except ValueError:
            said = f"value was not a proper array index: '{key}': strconv.Atoi: parsing \"{key}\": invalid syntax"
            raise PatchError(said) from None
        # One beyond the end is where something can be added, too.
        container.insert(_index(key, len(container) + 1), value)


def _take(container: Any, key: str) -> Any:
    if isinstance(container, dict):
        if key not in container:
            raise PatchError(f"Unable to remove nonexistent key: {key}: {_MISSING}")
        return container.pop(key)
    return container.pop(_index(key, len(container)))
