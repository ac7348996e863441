"""The leaves of an object, each with its path."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def leaves_of(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Leaves below `path`; an empty container is a leaf, so that it differs from an absent one."""
    match value:
        case dict() if value:
            for key, item in value.items():
                yield from leaves_of(item, f"{path}/{key}")
        case list() if value:
            key, names = _identities(value)
            for name, item in zip(names, value, strict=True):
                yield from leaves_of(item, f"{path}/{name}")
            if key == "type":
                # Conditions are found by type, yet their order tells which one is the newest.
                yield f"{path}#order", names
        case _:
            yield path, value


def _identities(items: list[Any]) -> tuple[str, list[str]]:
    """What tells the items of a list apart, and by which key: name of the object, name, type, else the position."""
    if all(isinstance(item, dict) for item in items):
        for key, names in (
            ("metadata", [_mapping(item.get("metadata")).get("name") for item in items]),
            ("name", [item.get("name") for item in items]),
            ("type", [item.get("type") for item in items]),
        ):
            texts = [name for name in names if isinstance(name, str)]
            if len(set(texts)) == len(items):
                return key, texts
    return "", [str(position) for position in range(len(items))]


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
