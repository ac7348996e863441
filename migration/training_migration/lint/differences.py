"""Where two objects differ."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def differing(one: Any, other: Any, path: str = "") -> Iterator[str]:
    """Paths of what differs; a field that is null or empty is the same as an absent one."""
    if isinstance(one, dict) and isinstance(other, dict):
        for key in dict.fromkeys((*one, *other)):
            yield from differing(one.get(key), other.get(key), f"{path}.{key}" if path else str(key))
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for at, (left, right) in enumerate(zip(one, other, strict=True)):
            yield from differing(left, right, f"{path}[{at}]")
    elif (one or other) and one != other:
        yield path
