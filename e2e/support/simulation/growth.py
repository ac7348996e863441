"""Everything in a process that can grow: the size of each container that an object leads to, by the way to it."""

from __future__ import annotations

import asyncio
import sys
from collections import deque
from collections.abc import Iterator, Mapping
from types import ModuleType
from typing import Any

CONTAINERS = (dict, list, set, deque, asyncio.Queue)
OURS = ("training_operator.", "training_controllers.", "training_api.", "prometheus_client.")


def sizes(root: object, name: str) -> dict[str, int]:
    """How many items the containers hold that `root` leads to through attributes; equal ways are added up."""
    found: dict[str, int] = {}
    seen: set[int] = set()
    waiting: deque[tuple[str, object]] = deque([(name, root)])
    while waiting:
        way, value = waiting.popleft()  # the nearest first, so that the ways are the shortest
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, CONTAINERS):
            found[way] = found.get(way, 0) + (value.qsize() if isinstance(value, asyncio.Queue) else len(value))
        waiting += _below(way, value)
    return found


def unlimited_caches() -> dict[str, int]:
    """How many results the functions of our modules remember for which no limit is set, by the function's name."""
    modules = [module for name, module in sys.modules.items() if name.startswith(OURS)]
    functions = {id(each): each for module in modules for each in vars(module).values() if hasattr(each, "cache_info")}
    counted = [(each, each.cache_info()) for each in functions.values()]
    return {f"{each.__module__}.{each.__name__}": info.currsize for each, info in counted if info.maxsize is None}


def _below(way: str, value: object) -> Iterator[tuple[str, object]]:
    """What to visit next: items without their keys, attributes of objects of ours, what functions hold."""
    if isinstance(value, Mapping):
        yield from ((f"{way}[]", item) for item in list(value.values()))
    elif isinstance(value, list | tuple | set | frozenset | deque):
        yield from ((f"{way}[]", item) for item in list(value))
    elif isinstance(value, ModuleType | type):
        return
    elif any(kind.__module__.startswith(OURS) for kind in type(value).__mro__):
        yield from ((f"{way}.{name}", item) for name, item in _attributes(value))
    elif callable(value):
        yield from _held(way, value)


def _held(way: str, function: Any) -> Iterator[tuple[str, object]]:
    for name in ("__self__", "func", "args", "keywords", "__wrapped__"):
        if (held := getattr(function, name, None)) is not None:
            yield way, held
    if (counted := getattr(function, "cache_info", None)) is not None:
        yield f"{way}.cache", [None] * counted().currsize
    for cell in getattr(function, "__closure__", None) or ():
        yield way, cell.cell_contents


def _attributes(value: object) -> Iterator[tuple[str, object]]:
    yield from vars(value).items() if hasattr(value, "__dict__") else ()
    for kind in type(value).__mro__:
        slots = kind.__dict__.get("__slots__", ())
        for slot in (slots,) if isinstance(slots, str) else slots:
            if slot not in ("__dict__", "__weakref__") and hasattr(value, slot):
                yield slot, getattr(value, slot)
