"""The part of JSONPath that columns of custom resources may use, for example `.status.conditions[-1:].type`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

Step = Callable[[Any], Iterable[Any]]

_TOKEN = re.compile(
    r"""\.(?P<name>(?:[^.\[\]\\]|\\.)+)"""
    r"""|\[\s*'(?P<quoted>(?:[^'\\]|\\.)*)'\s*\]"""
    r"""|\[\?\(\s*@(?P<path>[^=!<>]*?)\s*(?P<operator>==|!=)\s*(?P<literal>"[^"]*"|'[^']*'|[^)\s]+)\s*\)\]"""
    r"""|\[(?P<slice>[-\d:]*|\*)\]"""
)


class PathError(ValueError):
    """A JSONPath that cannot be read."""


class JsonPath:
    """A compiled path: `find` returns the values it leads to, none where something is missing."""

    def __init__(self, text: str) -> None:
        self._steps = tuple(_steps(text))

    def find(self, obj: Any) -> list[Any]:
        """Return the values that the path leads to."""
        found: Sequence[Any] = [obj]
        for step in self._steps:
            found = [value for each in found for value in step(each)]
        return list(found)


def _steps(text: str) -> Iterator[Step]:
    position = 0
    while position < len(text):
        token = _TOKEN.match(text, position)
        if token is None:
            raise PathError(f"unrecognized character in path at {text[position:]!r}")
        position = token.end()
        if (name := token["name"] or token["quoted"]) is not None:
            yield _member(re.sub(r"\\(.)", r"\1", name))
        elif token["operator"] is not None:
            yield _filter(JsonPath(token["path"]), token["operator"] == "==", token["literal"].strip("\"'"))
        else:
            yield _items(token["slice"])


def _member(name: str) -> Step:
    if name == "*":
        return lambda value: value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return lambda value: (value[name],) if isinstance(value, dict) and name in value else ()


def _items(text: str) -> Step:
    if text == "*":
        return lambda value: value if isinstance(value, list) else ()
    start, colon, stop = text.partition(":")
    if not colon:
        index = int(start)
        return lambda value: value[index : index + 1 or None] if isinstance(value, list) else ()
    part = slice(int(start) if start else None, int(stop) if stop else None)
    return lambda value: value[part] if isinstance(value, list) else ()


def _filter(path: JsonPath, equal: bool, literal: str) -> Step:
    def step(value: Any) -> Iterable[Any]:
        items = value if isinstance(value, list) else ()
        return [item for item in items if (literal in map(_plain, path.find(item))) == equal]

    return step


def _plain(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
