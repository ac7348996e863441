"""Text in YAML or JSON as Kubernetes reads it, one document at a time, so that a broken one spoils no other."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

import yaml

MOST_VALUES: Final = 10
"""For each character of a document: without aliases there is less than one."""


DEEPEST: Final = 200
"""Levels within a document; objects of Kubernetes have some twenty."""


@dataclass(frozen=True, slots=True)
class Part:
    """One document of a text."""

    line: int
    """Where it begins, from 1; of a broken one, where it is broken."""
    value: Any
    """What it says, of the types of JSON."""
    error: str = ""
    """One sentence if nobody can tell what it says."""
    items: tuple[int, ...] = ()
    """Where the entries of its list `items` begin, if that is known."""


class _Unusable(ValueError):
    """YAML that has no counterpart in JSON."""


def parts(text: str) -> Iterator[Part]:
    """The documents of a text in their order; those without content are left out."""
    if text.lstrip().startswith(("{", "[")):
        with suppress(ValueError, RecursionError):  # YAML may begin so, too
            yield from list(_json(text))
            return
    line = 1
    for chunk in re.split(r"^(?=---(?:\s|$))", text, flags=re.MULTILINE):
        if _HAS_CONTENT.search(chunk):
            yield from _yaml(line, chunk)
        line += chunk.count("\n")


_HAS_CONTENT: Final = re.compile(r"^(?!---\s*$|---\s+#|%)\s*[^\s#]", re.MULTILINE)
"""Anything but comments, directives and the marker that begins a document."""


def _json(text: str) -> Iterator[Part]:
    """Values one after the other, as `jq -c` writes them; raises ValueError."""
    decoder = json.JSONDecoder(parse_constant=_no_number)
    line, at, counted = 1, 0, 0
    while at < len(text):
        if text[at].isspace():
            at += 1
            continue
        line, counted = line + text.count("\n", counted, at), at
        value, at = decoder.raw_decode(text, at)
        yield Part(line, value)


def _no_number(word: str) -> Any:
    raise ValueError(f"{word} is no number")


def _yaml(before: int, chunk: str) -> Iterator[Part]:
    """The documents of a text without markers inside; one at most, but for those that end in `...`."""
    line = before
    try:
        _refuse_depth(chunk)
        loader = _Loader(chunk)
        while loader.check_node() and (node := loader.get_node()) is not None:
            line = before + node.start_mark.line
            value = _plain(loader.construct_document(node), iter(range(MOST_VALUES * len(chunk))))
            if value is not None:
                yield Part(line, value, items=tuple(before + each for each in _item_lines(node)))
    except yaml.MarkedYAMLError as error:
        at = before + error.problem_mark.line if error.problem_mark else line
        yield Part(at, None, _sentence(error.problem or "it cannot be read", at, chunk))
    except yaml.YAMLError as error:  # a character that may not be in a text
        yield Part(line, None, _sentence(str(error).partition("\n")[0], line, chunk))
    except RecursionError:
        yield Part(line, None, _sentence("it is nested too deeply", line, chunk))
    except ValueError as error:
        yield Part(line, None, _sentence(str(error), line, chunk))


_MAY_BE_DEEP: Final = re.compile(r"^[-?: \t]{100}", re.MULTILINE)


def _refuse_depth(chunk: str) -> None:
    """Raise RecursionError for what is nested too deeply: the parser in C would end the process."""
    if chunk.count("[") + chunk.count("{") < DEEPEST and not _MAY_BE_DEEP.search(chunk):
        return
    depth = 0
    for event in yaml.parse(chunk, Loader=_Loader):
        depth += isinstance(event, yaml.events.CollectionStartEvent) - isinstance(event, yaml.events.CollectionEndEvent)
        if depth > DEEPEST:
            raise RecursionError


def _sentence(problem: str, line: int, chunk: str) -> str:
    hint = "; it looks like a template of Helm, which has to be rendered first" if "{{" in chunk else ""
    return f"It is not YAML for Kubernetes: {problem} (line {line}){hint}."


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


def _plain(value: Any, budget: Iterator[int]) -> Any:
    """The value in the types of JSON, nothing of it shared; raises _Unusable for what JSON does not have."""
    if next(budget, None) is None:
        raise _Unusable("its aliases make it endless or far too large")
    match value:
        case None | bool() | int() | str():
            return value
        case float() if math.isfinite(value):
            return value
        case dict():
            return {_key(key): _plain(each, budget) for key, each in value.items()}
        case list():
            return [_plain(each, budget) for each in value]
    raise _Unusable(f"JSON has no counterpart of {value!r:.60}")


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
