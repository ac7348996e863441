"""Putting values together, and taking fields out of them, as their schema has it (structured-merge-diff)."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any

from training_local.apiserver.errors import Json
from training_local.apiserver.ownership import elements
from training_local.apiserver.ownership.field_set import FieldSet
from training_local.apiserver.ownership.levels import Level
from training_local.apiserver.ownership.typed import ABSENT, as_list, as_map, element_of, form, grouped, is_whole


def merge(old: Any, new: Any, level: Level) -> Any:
    """Return `old` with what `new` sets, ABSENT if nothing is left; parts of both are shared."""
    if new is ABSENT or old is ABSENT:
        return old if new is ABSENT else new
    shape = form(level, new)
    if shape == "scalar" or is_whole(shape, old, new, level):
        return new
    if shape == "list":
        return _merged_items(as_list(old), as_list(new), level) or ABSENT
    before, after, merged = as_map(old), as_map(new), {}
    for name in [*before, *(name for name in after if name not in before)]:
        if (member := level.member(name)) is not None:
            value = merge(before.get(name, ABSENT), after.get(name, ABSENT), member)
            if value is not ABSENT:
                merged[name] = value
    return merged or ABSENT


def _merged_items(old: list[Any], new: list[Any], level: Level) -> list[Any]:
    """Merge lists: the new one's order holds for its items, the others keep their places as well as that allows."""
    lefts, rights = [element_of(level, item) for item in old], [element_of(level, item) for item in new]
    by_left, by_right = grouped(level, old), dict(zip(rights, new, strict=True))
    shared = deque(element for element in rights if element in by_left)
    done: set[str] = set()
    order: list[tuple[str, int]] = []
    left = right = 0
    while left < len(lefts) or right < len(rights):
        if left < len(lefts):
            element, more = lefts[left], right < len(rights)
            if element not in by_right:
                order.append((element, left))
                left += 1
                continue
            if more and element != rights[right] and shared and shared[0] != element:
                left += 1  # its turn comes later
                continue
            if element in done or (more and element == rights[right]):
                left += 1
        if right < len(rights):
            element = rights[right]
            order.append((element, -1))
            done.add(element)
            right += 1
            if shared and shared[0] == element:
                shared.popleft()
    merged = (
        old[place] if place >= 0 else merge(_single(by_left, element), by_right[element], level.items)
        for element, place in order
    )
    return [item for item in merged if item is not ABSENT]


def _single(items: Mapping[str, list[Any]], element: str) -> Any:
    """Return the item to merge with: null where there are several."""
    found = items.get(element, [ABSENT])
    return found[0] if len(found) == 1 else None


def remove(value: Any, gone: FieldSet, level: Level) -> Any:
    """Return a value without the paths in `gone`; what becomes empty becomes null."""
    match form(level, value):
        case "scalar":
            return value
        case "list":
            if not isinstance(value, list) or level.atomic_list:
                return None
            kept = []
            for item in value:
                element = element_of(level, item)
                if element not in gone.members:
                    below = gone.below(element)
                    kept.append(remove(item, below, level.items) if below else item)
            return kept or None
    if not isinstance(value, dict) or level.atomic_map:
        return None
    left: Json = {}
    for name, inner in value.items():
        element = elements.field(name)
        if element not in gone.members:
            below, member = gone.below(element), level.member(name)
            left[name] = remove(inner, below, member) if below and member is not None else inner
    return left or None


def with_named_fields(paths: FieldSet, level: Level | None) -> FieldSet:
    """Return a set in which also each declared field with paths below it is a member."""
    members, children = set(paths.members), {}
    for element, child in paths.children.items():
        inner: Level | None = None
        if element.startswith(elements.FIELD):
            name = element.removeprefix(elements.FIELD)
            if level is not None and "map" in level.forms:
                inner = level.member(name)
                if level.declared(name):
                    members.add(element)
        elif element.startswith(elements.KEY) and level is not None and "list" in level.forms:
            inner = level.items
        children[element] = with_named_fields(child, inner)
    return FieldSet(members, children.items())
