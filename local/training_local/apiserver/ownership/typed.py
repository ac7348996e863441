"""Walks over values together with their schema: what a value sets, and how two differ.

The rules are those of structured-merge-diff, the library of the real server. `ABSENT` stands for no value, None for
null.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from training_local.apiserver.errors import Json
from training_local.apiserver.ownership import elements
from training_local.apiserver.ownership.elements import Path
from training_local.apiserver.ownership.field_set import FieldSet
from training_local.apiserver.ownership.levels import Form, Level

ABSENT: Any = object()
_ITEM_IS_NO_MAP = "associative list with keys may not have non-map elements"
_NULL_ITEM = "associative list with keys may not have a null element"


class BadItem(ValueError):
    """An item of a list without a valid key; the text says why."""


def form(level: Level, value: Any) -> Form:
    """Return the form of a value, as far as its place allows it; else the first that the place allows."""
    if len(level.forms) > 1:
        match value:
            case bool() | int() | float() | str() if "scalar" in level.forms:
                return "scalar"
            case list() if "list" in level.forms:
                return "list"
    return level.forms[0]


def element_of(level: Level, item: Any) -> str:
    """Return the path element of an item of the list at `level`: its key or value; raises BadItem."""
    if not level.keys:
        return _set_element(item)
    if item is None:
        raise BadItem(_NULL_ITEM)
    if not isinstance(item, dict):
        raise BadItem(_ITEM_IS_NO_MAP)
    keys: Json = {}
    for name in level.keys:
        if name in item:
            keys[name] = item[name]
        elif (default := level.items.key_default(name)) is not None:
            keys[name] = default
    if not keys:
        named = " ".join(f'"{name}"' for name in level.keys)
        raise BadItem(
            f"associative list with keys has an element that omits all key fields [{named}] "
            "(and doesn't have default values for any key fields)"
        )
    return elements.item_by_keys(keys)


def _set_element(item: Any) -> str:
    if isinstance(item, dict):
        raise BadItem("associative list without keys has an element that's a map type")
    if isinstance(item, list):
        raise BadItem("not supported: associative list with lists as elements")
    if item is None:
        raise BadItem("associative list without keys has an element that's an explicit null")
    return elements.item_by_value(item)


def field_set(value: Any, level: Level) -> FieldSet:
    """Return the paths that a value sets."""
    found = FieldSet()
    _collect(value, level, (), found)
    return found


def _collect(value: Any, level: Level, path: Path, found: FieldSet) -> None:
    match form(level, value):
        case "scalar":
            found.insert(path)
        case "list" if level.atomic_list:
            found.insert(path)
        case "list":
            for element, items in grouped(level, value).items():
                if len(items) == 1:
                    _collect(items[0], level.items, (*path, element), found)
                found.insert((*path, element))
        case _ if level.atomic_map:
            found.insert(path)
        case _:
            _collect_members(as_map(value), level, path, found)


def _collect_members(value: Json, level: Level, path: Path, found: FieldSet) -> None:
    for name, inner in value.items():
        below = (*path, elements.field(name))
        if (member := level.member(name)) is not None:
            _collect(inner, member, below, found)
        if inner is None or inner == {} or not level.declared(name):
            found.insert(below)


@dataclass(frozen=True, slots=True)
class Difference:
    """What a change took away, changed and added; no path is in more than one of them."""

    removed: FieldSet = field(default_factory=FieldSet)
    modified: FieldSet = field(default_factory=FieldSet)
    added: FieldSet = field(default_factory=FieldSet)

    def without_trees(self, ignored: FieldSet) -> Difference:
        """Return the difference without paths in or below `ignored`."""
        return Difference(*(each.without_trees(ignored) for each in (self.removed, self.modified, self.added)))


def compare(old: Any, new: Any, level: Level) -> Difference:
    """Return how `new` differs from `old`."""
    found = Difference()
    _compare(old, new, level, (), found)
    return found


def _compare(old: Any, new: Any, level: Level, path: Path, found: Difference) -> None:
    if old is not ABSENT and new is not ABSENT and old == new:
        return
    forms = [form(level, old if new is ABSENT else new)]
    if old is not ABSENT and new is not ABSENT and (before := form(level, old)) != forms[0]:
        forms.insert(0, before)
    for each in forms:
        if whole := is_whole(each, old, new, level):
            _changed(old, new, path, found)
        elif each == "map":
            _compare_members(as_map(old), as_map(new), level, path, found)
        else:
            _compare_items(grouped(level, old), grouped(level, new), level, path, found)
    if not whole and (old is ABSENT or new is ABSENT):
        _changed(old, new, path, found)


def _changed(old: Any, new: Any, path: Path, found: Difference) -> None:
    changes = found.added if old is ABSENT else found.removed if new is ABSENT else found.modified
    changes.insert(path)


def _compare_members(old: Json, new: Json, level: Level, path: Path, found: Difference) -> None:
    for name in [*old, *(name for name in new if name not in old)]:
        if (member := level.member(name)) is not None:
            _compare(old.get(name, ABSENT), new.get(name, ABSENT), member, (*path, elements.field(name)), found)


def _compare_items(
    old: Mapping[str, list[Any]], new: Mapping[str, list[Any]], level: Level, path: Path, found: Difference
) -> None:
    """Compare lists whose items have keys; items that stand there several times are atomic."""
    for element in [*old, *(element for element in new if element not in old)]:
        before, after, below = old.get(element, []), new.get(element, []), (*path, element)
        if len(before) < 2 and len(after) < 2:
            _compare(before[0] if before else ABSENT, after[0] if after else ABSENT, level.items, below, found)
        elif len(before) > 1 and len(after) > 1:
            if before != after:
                found.modified.insert(below)
        elif len(before) > 1:
            if after:
                _compare(ABSENT, after[0], level.items, below, found)
            found.removed.insert(below)
        else:
            if before:
                _compare(before[0], ABSENT, level.items, below, found)
            found.added.insert(below)


def is_whole(shape: Form, old: Any, new: Any, level: Level) -> bool:
    """Return whether two values are compared or merged as a whole: scalars, atomic ones, and when both are empty."""
    if shape == "scalar":
        return True
    if shape == "list":
        return level.atomic_list or not (as_list(old) or as_list(new))
    return level.atomic_map or not (as_map(old) or as_map(new))


def as_map(value: Any) -> Json:
    """Return a value as a map: an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    """Return a value as a list: an empty one for anything else."""
    return value if isinstance(value, list) else []


def grouped(level: Level, value: Any) -> dict[str, list[Any]]:
    """Return the items of a list by their path elements."""
    found: dict[str, list[Any]] = {}
    for item in as_list(value):
        found.setdefault(element_of(level, item), []).append(item)
    return found
