"""Text in YAML or JSON as Kubernetes reads it, one document at a time, so that a broken one spoils no other."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

import yaml

DEEPEST: Final = 200
"""Levels within a document; objects of Kubernetes have some twenty."""
MOST_DOCUMENTS: Final = 100_000
"""Of one text; more jobs than one cluster has."""
MOST_EXPANDED: Final = 1_000_000
"""Values and characters that the aliases of a short document may stand for; of a longer one, as many as it has."""
MOST_TIMES: Final = 10
"""How much larger aliases may make a document at most."""


@dataclass(frozen=True, slots=True)
class Part:
    """One document of a text."""

    line: int
    """Where it begins, from 1; of a broken one, where it is broken."""
    value: Any
    """The parsed value, of the types of JSON."""
    error: str = ""
    """One sentence if it cannot be parsed."""
    items: tuple[int, ...] = ()
    """Where the entries of its list `items` begin, if that is known."""


class _Unusable(ValueError):
    """YAML that has no counterpart in JSON."""


def parts(text: str) -> Iterator[Part]:
    """The documents of a text in their order; those without content are left out."""
    return islice(_limited(_parts(text)), MOST_DOCUMENTS + 1)


def json_value(text: str) -> Any:
    """The value of one text in JSON; raises ValueError, also where it is nested too deeply."""
    try:
        found = list(_json(text))
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    if len(found) != 1 or found[0].error:
        raise ValueError(_TOO_DEEP if found and found[0].error else f"there are {len(found)} values, not one")
    return found[0].value


def _limited(found: Iterator[Part]) -> Iterator[Part]:
    """The same with a sentence in place of the first one that is too many."""
    for number, each in enumerate(found):
        yield (
            each
            if number < MOST_DOCUMENTS
            else Part(each.line, None, f"There are more than {MOST_DOCUMENTS} documents.")
        )


def _parts(text: str) -> Iterator[Part]:
    if text.lstrip().startswith(("{", "[")):
        with suppress(ValueError, RecursionError):  # YAML may begin so, too
            yield from list(_json(text))
            return
    line = 1
    for chunk in _chunks(text):
        if _HAS_CONTENT.search(chunk):
            yield from _yaml(line, chunk)
        line += chunk.count("\n")


def _chunks(text: str) -> Iterator[str]:
    """The text cut before each marker that begins a document."""
    begin = 0
    for marker in _MARKER.finditer(text):
        yield text[begin : marker.start()]
        begin = marker.start()
    yield text[begin:]


_MARKER: Final = re.compile(r"^---(?=\s|$)", re.MULTILINE)
_HAS_CONTENT: Final = re.compile(r"^(?!---[ \t\r]*$|---[ \t]+#|%)[^\S\n]*[^\s#]", re.MULTILINE)
"""Anything but comments, directives and the marker that begins a document."""


def _json(text: str) -> Iterator[Part]:
    """Values one after the other, as `jq -c` writes them; raises ValueError."""
    decoder = json.JSONDecoder(parse_constant=_no_number, parse_float=_finite)
    may_be_deep = text.count("[") + text.count("{") >= DEEPEST
    has_halves = _HALVES.search(text)
    line, at, counted = 1, 0, 0
    while (begin := _BLANK.match(text, at)) and (at := begin.end()) < len(text):
        line, counted = line + text.count("\n", counted, at), at
        value, at = decoder.raw_decode(text, at)
        if may_be_deep and _deeper(value, DEEPEST):
            yield Part(line, None, _sentence(_TOO_DEEP, line, ""))
        else:
            yield Part(line, _without_halves(value) if has_halves else value)


_BLANK: Final = re.compile(r"[ \t\r\n]*")
_TOO_DEEP: Final = "it is nested too deeply"
_HALVES: Final = re.compile(r"\\u[dD][89a-fA-F]")
"""Escaped halves of characters; alone they are no text."""


def _without_halves(value: Any) -> Any:
    """With the replacement character for halves of characters that have no other half, as Go reads them."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, dict):
        return {_without_halves(key): _without_halves(each) for key, each in value.items()}
    return [_without_halves(each) for each in value] if isinstance(value, list) else value


def _deeper(value: Any, levels: int) -> bool:
    """Whether there are more levels than this."""
    level = [value]
    for _ in range(levels + 1):
        level = [
            below
            for each in level
            if isinstance(each, dict | list)
            for below in (each.values() if isinstance(each, dict) else each)
        ]
    return bool(level)


def _finite(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else _no_number(text)


def _no_number(word: str) -> float:
    raise ValueError(f"{word} is not a number")


def _yaml(before: int, chunk: str) -> Iterator[Part]:
    """The documents of a text without markers inside; one at most, but for those that end in `...`."""
    line = before
    try:
        _reject_depth(chunk)
        loader = _Loader(chunk)
        while loader.check_node() and (node := loader.get_node()) is not None:
            line = before + node.start_mark.line
            _reject_size(node, len(chunk))
            value = _plain(loader.construct_document(node))
            if value is not None:
                yield Part(line, value, items=tuple(before + each for each in _item_lines(node)))
    except yaml.MarkedYAMLError as error:
        at = before + error.problem_mark.line if error.problem_mark else line
        yield Part(at, None, _sentence(error.problem or "it cannot be read", at, chunk))
    except yaml.YAMLError as error:  # a character that may not be in a text
        yield Part(line, None, _sentence(str(error).partition("\n")[0], line, chunk))
    except RecursionError:
        yield Part(line, None, _sentence(_TOO_DEEP, line, chunk))
    except ValueError as error:
        yield Part(line, None, _sentence(str(error), line, chunk))


def nodes(text: str) -> Iterator[yaml.Node]:
    """The roots of the documents with their places, up to the first that is broken."""
    with suppress(yaml.YAMLError, RecursionError):
        _reject_depth(text)
        yield from yaml.compose_all(text, Loader=_Loader)


_MAY_BE_DEEP: Final = re.compile(r"^[-?: \t]{100}", re.MULTILINE)


def _reject_depth(chunk: str) -> None:
    """Raise RecursionError for what is nested too deeply: the parser in C would end the process."""
    if chunk.count("[") + chunk.count("{") < DEEPEST and not _MAY_BE_DEEP.search(chunk):
        return
    depth = 0
    for event in yaml.parse(chunk, Loader=_Loader):
        depth += isinstance(event, yaml.events.CollectionStartEvent) - isinstance(event, yaml.events.CollectionEndEvent)
        if depth > DEEPEST:
            raise RecursionError


def _reject_size(root: yaml.Node, given: int) -> None:
    """Raise _Unusable for what its aliases make too large or endless, RecursionError for what they make too deep."""
    size, depth = _expanded(root, {})
    if depth > DEEPEST:
        raise RecursionError
    if size > max(2 * given, min(MOST_TIMES * given, MOST_EXPANDED)):
        raise _Unusable("its aliases expand to too many values")


def _expanded(node: yaml.Node, known: dict[yaml.Node, tuple[int, int] | None]) -> tuple[int, int]:
    """How many values and characters, and how many levels, there are with aliases written out."""
    if isinstance(node, yaml.ScalarNode):
        return 1 + len(node.value), 0
    if node in known:
        if (found := known[node]) is None:
            raise _Unusable("an alias in it refers to a value that contains the alias")
        return found
    known[node] = None
    inside = (each for pair in node.value for each in pair) if isinstance(node, yaml.MappingNode) else node.value
    sizes = [_expanded(each, known) for each in inside]
    known[node] = found = 1 + sum(size for size, _ in sizes), 1 + max((depth for _, depth in sizes), default=0)
    return found


def _sentence(problem: str, line: int, chunk: str) -> str:
    hint = ""
    if "{{" in chunk:
        hint = "; it looks like a Helm template: render it first, with `helm template`"
    elif _TAB.search(chunk):
        hint = "; it contains tabs: indent YAML with spaces"
    return f"It is not valid YAML: {problem} (line {line}){hint}."


_TAB: Final = re.compile(r"^ *\t", re.MULTILINE)


class _Loader(yaml.CSafeLoader):
    """Plain words mean what they mean to Kubernetes: there are no dates, and no numbers to the base of 60."""


def resolvers() -> Iterator[tuple[str, re.Pattern[str], list[str]]]:
    """Words that are no strings to Kubernetes, though the library takes them otherwise: tag, pattern, first letters."""
    numbers = list("-+0123456789")
    boolean = re.compile(r"(y|Y|n|N|yes|Yes|YES|no|No|NO|true|True|TRUE|false|False|FALSE|on|On|ON|off|Off|OFF)$")
    yield "bool", boolean, list("yYnNtTfFoO")
    yield "int", re.compile(r"[-+]?(0b[01_]+|0x[0-9a-fA-F_]+|0o?[0-7_]*|[1-9][0-9_]*)$"), numbers
    fraction = r"([-+]?(\.[0-9]+|[0-9][0-9_]*(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN))$"
    yield "float", re.compile(fraction), [*numbers, "."]


_TAG: Final = "tag:yaml.org,2002:"
_OTHERS: Final = {_TAG + name for name in ("timestamp", "bool", "int", "float", "value")}
_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in known if tag not in _OTHERS]
    for first, known in yaml.CSafeLoader.yaml_implicit_resolvers.items()
}
for _name, _pattern, _letters in resolvers():
    _Loader.add_implicit_resolver(_TAG + _name, _pattern, _letters)
_Loader.add_constructor(_TAG + "bool", lambda _, node: node.value[:2].lower() in ("y", "ye", "tr", "on"))


class _Dumper(yaml.CSafeDumper):
    """Quotes all that either Kubernetes or the library would not take for a string, and repeats what is shared."""

    def ignore_aliases(self, data: Any) -> bool:
        """Never write an alias."""
        return True


for _name, _pattern, _letters in resolvers():
    _Dumper.add_implicit_resolver(_TAG + _name, _pattern, _letters)
_Dumper.add_representer(
    str, lambda dumper, text: dumper.represent_scalar(_TAG + "str", text, style="|" if "\n" in text else None)
)


def dump(objects: Iterable[Any]) -> str:
    """Objects as YAML, one document each, with their fields in their order and texts of several lines as blocks."""
    text: str = yaml.dump_all(
        objects, Dumper=_Dumper, sort_keys=False, explicit_start=True, width=10_000, allow_unicode=True
    )
    return text.removeprefix("---\n")


def _plain(value: Any) -> Any:
    """The value in the types of JSON, nothing of it shared; raises _Unusable for what JSON does not have."""
    match value:
        case None | bool() | int() | str():
            return value
        case float() if math.isfinite(value):
            return value
        case dict():
            return {_key(key): _plain(each) for key, each in value.items()}
        case list():
            return [_plain(each) for each in value]
    raise _Unusable(f"JSON has no equivalent of {value!r:.60}")


def _key(key: Any) -> str:
    if isinstance(key, str):
        return key
    if key is None or isinstance(key, bool | int | float):
        return json.dumps(key)
    raise _Unusable(f"{key!r:.60} cannot be the name of a field")


def _item_lines(node: yaml.Node) -> list[int]:
    """Where the entries of the list `items` begin, from 0."""
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if key.value == "items" and isinstance(value, yaml.SequenceNode):
                return [each.start_mark.line for each in value.value]
    return []
