"""Label and field selectors as they stand in queries (Kubernetes documentation, "Labels and Selectors", "Field Selectors")."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from training_local.apiserver import names
from training_local.apiserver.errors import ApiError, Json, bad_request, quoted
from training_local.apiserver.resource_types import ResourceType

Test = Callable[[Mapping[str, str]], bool]

_TOKEN = re.compile(r"\s*(==|!=|=|!|,|\(|\)|<|>|[^\s=!,()<>]+|$)")
_OPERATORS = ("!=", "<", "=", "==", ">", "in", "notin")
_INTEGER = r"[+-]?\d+"


@dataclass(frozen=True, slots=True)
class Requirement:
    """One condition of a label selector."""

    key: str
    operator: str
    values: frozenset[str] = frozenset()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Tell whether a set of labels fulfils the condition."""
        value = labels.get(self.key)
        match self.operator:
            case "in":
                return value in self.values
            case "notin":
                return value not in self.values
            case "exists":
                return value is not None
            case "absent":
                return value is None
        bound = int(next(iter(self.values)))
        if value is None or not re.fullmatch(_INTEGER, value):
            return False
        return int(value) > bound if self.operator == ">" else int(value) < bound


@dataclass(frozen=True, slots=True)
class LabelSelector:
    """All conditions must hold; none means everything."""

    requirements: tuple[Requirement, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Tell whether a set of labels is selected."""
        return all(requirement.matches(labels) for requirement in self.requirements)


@dataclass(frozen=True, slots=True)
class FieldCondition:
    """One condition of a field selector: a field equals a text, or does not."""

    path: str
    value: str
    equal: bool
    read: Callable[[Json], str]

    def matches(self, obj: Json) -> bool:
        """Tell whether an object fulfils the condition."""
        return (self.read(obj) == self.value) is self.equal


@dataclass(frozen=True, slots=True)
class FieldSelector:
    """All conditions must hold; none means everything."""

    conditions: tuple[FieldCondition, ...] = ()

    def matches(self, obj: Json) -> bool:
        """Tell whether an object is selected."""
        return all(condition.matches(obj) for condition in self.conditions)


def label_selector(text: str) -> LabelSelector:
    """Parse `a=b,c!=d,e in (f,g),h,!i,j>1`; raises a 400 that says what was found and what was expected."""
    return LabelSelector(tuple(_Parser(text).requirements()))


def field_selector(text: str, type: ResourceType) -> FieldSelector:
    """Parse `a=b,c!=d` over the fields that the type offers; raises a 400 for others."""
    return FieldSelector(tuple(_field_condition(term, text, type) for term in text.split(",") if term))


def _field_condition(term: str, text: str, type: ResourceType) -> FieldCondition:
    found = re.fullmatch(r"(.*?)(!=|==|=)(.*)", term)
    if not found:
        raise bad_request(f"invalid selector: '{text}'; can't understand '{term}'")
    path, operator, value = found.groups()
    read = type.selectable.get(path)
    if path == "metadata.name":
        read = _metadata("name")
    elif path == "metadata.namespace" and type.namespaced:
        read = _metadata("namespace")
    if read is None:
        shown = f'"{path}" is not a known field selector: only "metadata.name", "metadata.namespace"'
        raise bad_request(f"field label not supported: {path}" if type.selectable or type.custom else shown)
    return FieldCondition(path, value, operator != "!=", read)


def _metadata(name: str) -> Callable[[Json], str]:
    def read(obj: dict[str, Any]) -> str:
        return str(obj["metadata"].get(name, ""))

    return read


class _Parser:
    """Reads a label selector from left to right."""

    def __init__(self, text: str) -> None:
        self._tokens = [token for token in _TOKEN.findall(text) if token]
        self._at = 0

    def requirements(self) -> list[Requirement]:
        found: list[Requirement] = []
        while self._peek():
            found.append(self._requirement())
            if not self._peek():
                break
            self._expect(",", "',' or 'end of string'")
            if not self._peek():
                raise _unreadable("found '', expected: identifier after ','")
        return found

    def _requirement(self) -> Requirement:
        if self._peek() == "!":
            self._next()
            return Requirement(self._key(), "absent")
        key = self._key()
        operator = self._peek()
        if operator in ("", ","):
            return Requirement(key, "exists")
        self._next()
        if operator not in _OPERATORS:
            raise _unreadable(f"found '{operator}', expected: in, notin, =, ==, !=, gt, lt")
        if operator in ("in", "notin"):
            return Requirement(key, operator, frozenset(_checked(key, value) for value in self._set()))
        value = "" if self._peek() in ("", ",") else self._next()
        if operator in ("<", ">"):
            if not re.fullmatch(_INTEGER, value):
                rule = "for 'Gt', 'Lt' operators, the value must be an integer"
                raise _unreadable(f"values[0][{key}]: Invalid value: {quoted(value)}: {rule}")
            return Requirement(key, operator, frozenset({value}))
        return Requirement(key, "notin" if operator == "!=" else "in", frozenset({_checked(key, value)}))

    def _set(self) -> list[str]:
        self._expect("(", "'('")
        values: list[str] = []
        while self._peek() not in (")", ""):
            values.append("" if self._peek() == "," else self._next())
            if self._peek() == ",":
                self._next()
                if self._peek() == ")":
                    values.append("")
        self._expect(")", "',', or ')'")
        return values or [""]

    def _key(self) -> str:
        key = self._next()
        if not key or not re.match(r"[^=!,()<>]", key):
            raise _unreadable(f"found '{key}', expected: identifier")
        for problem in names.qualified_name(key):
            raise _unreadable(f"key: Invalid value: {quoted(key)}: {problem}")
        return key

    def _peek(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def _next(self) -> str:
        token = self._peek()
        self._at += 1
        return token

    def _expect(self, token: str, said: str) -> None:
        if self._peek() != token:
            raise _unreadable(f"found '{self._peek()}', expected: {said}")
        self._next()


def _checked(key: str, value: str) -> str:
    for problem in names.label_value(value):
        raise _unreadable(f"values[0][{key}]: Invalid value: {quoted(value)}: {problem}")
    return value


def _unreadable(why: str) -> ApiError:
    return bad_request(f"unable to parse requirement: {why}")
