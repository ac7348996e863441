"""Objects with something wrong in them: fields of another type, gone, doubled, swapped, endless, far too large."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from random import Random
from typing import Any

Place = tuple[dict[str, Any] | list[Any], Any]
"""A mapping or list, and the key or index in it."""

DEEP: Any = json.loads("[" * 90 + "]" * 90)
ODD: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 3.7, 1e308, 2**31 - 1, 2**31, 2**63, 2**200, -(2**63), "", "x", "-1", "1.5", "a b",
    "9" * 400, "é" * 300, "$(A)$(A)", "\0", "a\nb", "../..", "true", "null", [], {}, [None], [[]], [{}],
    {"": None}, {"a": []}, [1, 2], ["a", None], [{"name": None}], [{"name": []}],
    {"name": {}}, {"spec": []}, [{"env": [{"name": {}}]}], DEEP,
)  # fmt: skip
"""Values that belong nowhere, or where nobody expects them."""


def mutated(obj: Any, random: Random) -> Any:
    """A copy with one to three changes."""
    copied = {"": copy.deepcopy(obj)}
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        places = list(_places(copied))
        if len(places) == 1:
            break  # the change before has left nothing to be changed
        owner, key = random.choice(places[1:])
        random.choice(_CHANGES)(owner, key, places, random)
    return copied[""]


def _places(value: Any) -> Iterator[Place]:
    keys = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        yield value, key
        yield from _places(value[key])


def _replace(owner: Any, key: Any, places: list[Place], random: Random) -> None:
    owner[key] = copy.deepcopy(random.choice(ODD))


def _delete(owner: Any, key: Any, places: list[Place], random: Random) -> None:
    del owner[key]


def _double(owner: Any, key: Any, places: list[Place], random: Random) -> None:
    if isinstance(owner, list):
        owner.insert(key, copy.deepcopy(owner[key]))
    else:
        owner[f"{key}2"] = copy.deepcopy(owner[key])


def _retype(owner: Any, key: Any, places: list[Place], random: Random) -> None:
    """The same content in another type, as users get it wrong."""
    value = owner[key]
    if isinstance(value, dict):
        owner[key] = random.choice(([{**value}], [{"name": name, "value": each} for name, each in value.items()]))
    elif isinstance(value, list):
        owner[key] = value[0] if value else {}
    elif isinstance(value, str):
        owner[key] = random.choice(([value], {value: value}, value.encode().hex()))
    else:
        owner[key] = random.choice((str(value), [value], {"value": value}))


def _swap(owner: Any, key: Any, places: list[Place], random: Random) -> None:
    """A value from elsewhere in the object."""
    other, name = random.choice(places)
    if name != "":
        owner[key] = copy.deepcopy(other[name])


def _rename(owner: Any, key: Any, places: list[Place], random: Random) -> None:
    if isinstance(owner, dict):
        owner[random.choice(("", str(key).upper(), "name", "*", "a/b", "é" * 70))] = owner.pop(key)


_CHANGES = (_replace, _replace, _replace, _delete, _double, _retype, _retype, _swap, _swap, _rename)
