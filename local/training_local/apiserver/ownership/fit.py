"""Whether a configuration fits the schema of its kind, in the real server's words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from training_local.apiserver.ownership import elements
from training_local.apiserver.ownership.levels import Level
from training_local.apiserver.ownership.typed import BadItem, element_of, form


def problems(value: Any, level: Level, *, duplicates: bool = False) -> list[str]:
    """Return what does not fit its place, each with its path; `duplicates` allows items of lists several times."""
    return [f"{path}: {said}" if path else said for path, said in _problems(value, level, duplicates)]


def _problems(value: Any, level: Level, duplicates: bool) -> list[tuple[str, str]]:
    match form(level, value):
        case "scalar":
            said = _scalar_problem(value, level)
            return [("", said)] if said else []
        case "list":
            if value is not None and not isinstance(value, list):
                return [("", f"expected list, got {_go_value(value)}")]
            return _item_problems(value or [], level, duplicates)
    if value is not None and not isinstance(value, dict):
        return [("", f"expected map, got {_go_value(value)}")]
    found: list[tuple[str, str]] = []
    for name, inner in sorted((value or {}).items()):
        member = level.member(name)
        if member is None:
            return [*found, (f".{name}", "field not declared in schema")]
        found += _below(f".{name}", _problems(inner, member, duplicates))
    return found


def _item_problems(items: Sequence[Any], level: Level, duplicates: bool) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    seen: set[str] = set()
    for number, item in enumerate(items):
        shown = f"[{number}]"
        if not level.atomic_list:
            try:
                element = element_of(level, item)
            except BadItem as error:
                return [*found, ("", f"element {number}: {error}")]
            shown = elements.text((element,))
            if element in seen and not duplicates:
                found.append(("", f"duplicate entries for key {shown}"))
            seen.add(element)
        found += _below(shown, _problems(item, level.items, duplicates))
    return found


def _below(above: str, found: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    return [(above + path, said) for path, said in found]


def _scalar_problem(value: Any, level: Level) -> str:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    match level.scalar:
        case _ if value is None:
            return ""
        case "numeric" if not number:
            return f"expected numeric (int or float), got {go_type(value)}"
        case "string" if not isinstance(value, str):
            return f"expected string, got &value.valueUnstructured{{Value:{go_text(value)}}}"
        case "boolean" if not isinstance(value, bool):
            return f"expected boolean, got {_go_value(value)}"
        case "untyped" if isinstance(value, (dict, list)):
            return f"expected any scalar, got {_go_value(value)}"
    return ""


def go_type(value: Any) -> str:
    """Name the type of a value as Go does."""
    names = {
        bool: "bool",
        str: "string",
        float: "float64",
        dict: "map[string]interface {}",
        list: "[]interface {}",
        type(None): "<nil>",
    }
    return names.get(type(value), "int64")


def _go_value(value: Any) -> str:
    return f"&{{{go_text(value)}}}"


def go_text(value: Any) -> str:
    """Print a value as Go does."""
    if isinstance(value, dict):
        return "map[" + " ".join(f"{name}:{go_text(value[name])}" for name in sorted(value)) + "]"
    if isinstance(value, list):
        return "[" + " ".join(map(go_text, value)) + "]"
    if isinstance(value, bool):
        return str(value).lower()
    return "<nil>" if value is None else str(value)
