"""Elements of field paths as the format FieldsV1 writes them: `f:NAME`, `k:{"KEY":VALUE}`, `v:VALUE`.

They are kept as text everywhere: it identifies an element, and it is what `managedFields` shows.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

Path = tuple[str, ...]

FIELD, KEY, VALUE = "f:", "k:", "v:"
OWNED_KINDS = (FIELD, KEY, VALUE)


def field(name: str) -> str:
    """Return the element for a field of an object, or an entry of a map."""
    return FIELD + name


def item_by_keys(keys: Mapping[str, Any]) -> str:
    """Return the element for the item of a list of the type `map` that has these keys."""
    return KEY + _written({name: keys[name] for name in sorted(keys)})


def item_by_value(value: Any) -> str:
    """Return the element for an item of a list of the type `set`."""
    return VALUE + _written(value)


def read(element: str) -> str:
    """Return an element from elsewhere as this module writes it; raises ValueError if it is malformed."""
    if element.startswith(KEY):
        keys = json.loads(element[2:])
        if not isinstance(keys, dict):
            raise ValueError(f"the keys of an item are no object: {element}")
        return item_by_keys(keys)
    return item_by_value(json.loads(element[2:])) if element.startswith(VALUE) else element


def order(element: str) -> tuple[int, Any]:
    """Return what elements are sorted by in messages: fields, then items by key, then by value."""
    content = element[2:]
    if element.startswith(FIELD):
        return 0, content
    value = json.loads(content)
    comparable = [(name, _rank(each)) for name, each in value.items()] if isinstance(value, dict) else _rank(value)
    return OWNED_KINDS.index(element[:2]), comparable


def text(path: Sequence[str]) -> str:
    """Return a path as conflicts name it: `.spec.containers[name="main"].image`."""
    return "".join(map(_shown, path))


def _shown(element: str) -> str:
    content = element[2:]
    if element.startswith(FIELD):
        return f".{content}"
    if element.startswith(VALUE):
        return f"[={content}]"
    return "[" + ",".join(f"{name}={_written(value)}" for name, value in json.loads(content).items()) + "]"


def _rank(value: Any) -> tuple[int, Any]:
    """Make values of different types comparable: numbers, text, truth."""
    if isinstance(value, bool):
        return 2, value
    return (1, value) if isinstance(value, str) else (0, value)


def _written(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
