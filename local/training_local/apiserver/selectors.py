"""Label and field selectors as they stand in queries (Kubernetes documentation)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from training_local.apiserver import names
from training_local.apiserver.errors import ApiError, Json, bad_request, quoted
from training_local.apiserver.resource_types import ResourceType

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
        """Return whether a set of labels fulfils the condition."""
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
        """Return whether a set of labels is selected."""
        return all(requirement.matches(labels) for requirement in self.requirements)


@dataclass(frozen=True, slots=True)
class FieldCondition:
    """One condition of a field selector: a field equals a text, or does not."""

    path: str
    value: str
    equal: bool
    read: Callable[[Json], str]

    def matches(self, obj: Json) -> bool:
        """Return whether an object fulfils the condition."""
        return (self.read(obj) == self.value) is self.equal


@dataclass(frozen=True, slots=True)
class FieldSelector:
    """All conditions must hold; none means everything."""

    conditions: tuple[FieldCondition, ...] = ()

    def matches(self, obj: Json) -> bool:
        """Return whether an object is selected."""
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
    """Reads a label selector from left to right, and complains as the real server does."""

    def __init__(self, text: str) -> None:
        self._tokens = [token for token in _TOKEN.findall(text) if token]
        self._at = 0

    def requirements(self) -> list[Requirement]:
        found: list[Requirement] = []
        while token := self._peek():
            if token != "!" and not _is_identifier(token):
                raise _unexpected(token, "!, identifier, or 'end of string'")
            try:
                found.append(self._requirement())
            except ApiError as error:
                raise bad_request(f"unable to parse requirement: {error.message}") from error
            if not self._peek():
                break
            if (after := self._next()) != ",":
                raise _unexpected(after, "',' or 'end of string'")
            if self._peek() != "!" and not _is_identifier(self._peek()):
                raise _unexpected(self._peek(), "identifier after ','")
        return found

    def _requirement(self) -> Requirement:
        absent = self._peek() == "!"
        if absent:
            self._next()
        key = self._identifier()
        for problem in names.qualified_name(key):
            raise bad_request(f"key: Invalid value: {quoted(key)}: {problem}")
        if absent or self._peek() in ("", ","):
            return Requirement(key, "absent" if absent else "exists")
        operator = self._next()
        if operator not in _OPERATORS:
            raise _unexpected(operator, "in, notin, =, ==, !=, gt, lt")
        if operator in ("in", "notin"):
            return Requirement(key, operator, frozenset(_checked(key, value) for value in self._set()))
        value = "" if self._peek() in ("", ",") else self._identifier()
        if operator not in ("<", ">"):
            return Requirement(key, "notin" if operator == "!=" else "in", frozenset({_checked(key, value)}))
        if not re.fullmatch(_INTEGER, value):
            rule = "for 'Gt', 'Lt' operators, the value must be an integer"
            raise bad_request(f"values[0]: Invalid value: {quoted(value)}: {rule}")
        return Requirement(key, operator, frozenset({value}))

    def _set(self) -> list[str]:
        if (token := self._next()) != "(":
            raise bad_request(f"found '{token}' expected: '('")
        values: list[str] = []
        while True:
            # Nothing between two commas or brackets is the empty text.
            values.append("" if self._peek() in (",", ")") else self._identifier())
            if (token := self._next()) == ")":
                return values
            if token != ",":
                raise _unexpected(token, "',' or ')'")

    def _identifier(self) -> str:
        if not _is_identifier(token := self._next()):
            raise _unexpected(token, "identifier")
        return token

    def _peek(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def _next(self) -> str:
        token = self._peek()
        self._at += 1
        return token


def _is_identifier(token: str) -> bool:
    return bool(token) and token[0] not in "=!,()<>"


def _unexpected(token: str, expected: str) -> ApiError:
    return bad_request(f"found '{token}', expected: {expected}")


def _checked(key: str, value: str) -> str:
    for problem in names.label_value(value):
        raise bad_request(f"values[0][{key}]: Invalid value: {quoted(value)}: {problem}")
    return value
