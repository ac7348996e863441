"""CEL rules of custom resources (`x-kubernetes-validations`).

Not covered: the cost budget, types for values with a `format` (they stay strings), quantities and URLs as types.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from training_local.apiserver.custom.cel import Activation, EvaluationError, Program, activation, program
from training_local.apiserver.custom.schema_validation import item_key, keyed_items
from training_local.apiserver.custom.structural import Structural
from training_local.apiserver.errors import Cause, Json, duplicate, forbidden_value, invalid, required

_STRING = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\"""")
_OLD_SELF = re.compile(r"\boldSelf\b")
_STEP = re.compile(r"\.(?P<name>[^.\[]+)|\['(?P<key>[^']+)'\]")
_MESSAGE_LIMIT = 5 * 1024


class PathError(Exception):
    """A `fieldPath` that leads to no field of the schema."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A compiled validation rule."""

    program: Program
    text: str
    message: str
    message_program: Program | None
    reason: str
    field_path: str
    """Below the place of the rule: `.field` for fields, `[key]` for entries of maps."""
    uses_old: bool
    optional_old: bool


def compile_rule(declared: Json, level: Structural) -> Rule:
    """Compile one entry of `x-kubernetes-validations`; raise `CompileError` if that cannot be done."""
    text = declared["rule"].strip()
    expression = declared.get("messageExpression", "")
    optional = bool(declared.get("optionalOldSelf"))
    return Rule(
        program=program(text, optional_old=optional),
        text=text,
        message=declared.get("message", "").strip(),
        message_program=program(expression, optional_old=optional) if expression else None,
        reason=declared.get("reason", ""),
        field_path=field_path(declared.get("fieldPath", ""), level),
        uses_old=_OLD_SELF.search(_STRING.sub("", text)) is not None,
        optional_old=optional,
    )


def field_path(text: str, level: Structural) -> str:
    """Return where the `fieldPath` of a rule leads to, as causes write it; raise `PathError` if nowhere."""
    position, shown = 0, ""
    while position < len(text):
        step = _STEP.match(text, position)
        name = (step["name"] or step["key"]) if step else ""
        inner = level.properties.get(name, level.additional)
        if step is None or inner is None:
            raise PathError(text)
        shown += f".{name}" if name in level.properties else f"[{name}]"
        position, level = step.end(), inner
    return shown


class RuleTree:
    """The rules of a schema and of all schemas below it; levels without any rule below them are left out."""

    def __init__(self, level: Structural, root: bool = True) -> None:
        self._level = level
        self._root = root
        self._rules = [compile_rule(each, level) for each in level.schema.get("x-kubernetes-validations", ())]
        self._type: str = level.schema.get("type", "")
        self._has_transitions = any(rule.uses_old for rule in self._rules)
        trees = ((name, RuleTree(each, root=False)) for name, each in level.properties.items())
        self._properties = {name: tree for name, tree in trees if tree}
        additional = RuleTree(level.additional, root=False) if level.additional else None
        self._additional = additional if additional else None
        items = RuleTree(level.items, root=False) if level.items else None
        self._items = items if items else None

    def __bool__(self) -> bool:
        return bool(self._rules or self._properties or self._additional or self._items)

    def causes(self, value: Any, old: Any = None, path: str = "") -> Iterator[Cause]:
        """Evaluate the rules on a value; `old` is the stored value, `None` where nothing comparable is stored."""
        if value is None:
            return
        changed = old is None or old != value
        if self._rules and (changed or self._has_transitions):
            yield from self._own_causes(value, old, path, changed)
        if isinstance(value, dict):
            yield from self._object_causes(value, old if isinstance(old, dict) else {}, path)
        elif isinstance(value, list) and self._items is not None:
            earlier = keyed_items(self._level, old)
            for index, item in enumerate(value):
                yield from self._items.causes(item, earlier.get(item_key(self._level, item)), f"{path}[{index}]")

    def _object_causes(self, value: Json, old: Json, path: str) -> Iterator[Cause]:
        for key, inner in value.items():
            if (tree := self._properties.get(key)) is not None:
                yield from tree.causes(inner, old.get(key), f"{path}.{key}" if path else key)
            elif self._additional is not None and key not in self._level.properties:
                yield from self._additional.causes(inner, old.get(key), f"{path}[{key}]")

    def _own_causes(self, value: Any, old: Any, path: str, changed: bool) -> Iterator[Cause]:
        variables = activation(self._visible(value), None if old is None else self._visible(old))
        for rule in self._rules:
            if (rule.uses_old and old is None and not rule.optional_old) or not (changed or rule.uses_old):
                continue
            if (cause := self._evaluate(rule, variables, path)) is not None:
                yield cause

    def _visible(self, value: Any) -> Any:
        """Return what a rule may see: at the root, of the metadata only the names."""
        if self._root and isinstance(value, dict):
            meta = value.get("metadata", {})
            names = {key: meta[key] for key in ("name", "generateName") if key in meta}
            value = {**value, "metadata": names}
        return _typed(self._level, value)

    def _evaluate(self, rule: Rule, variables: Activation, path: str) -> Cause | None:
        shown = path or "<nil>"
        try:
            holds = rule.program.evaluate(variables)
        except EvaluationError as error:
            return invalid(shown, self._type, f"{error} evaluating rule: {rule.message or rule.text}")
        if holds is True:
            return None
        place = f"{path}{rule.field_path}".removeprefix(".") if rule.field_path else shown
        detail = _message(rule, variables) or rule.message or f"failed rule: {rule.text}"
        match rule.reason:
            case "FieldValueForbidden":
                return forbidden_value(place, detail)
            case "FieldValueRequired":
                return required(place, detail)
            case "FieldValueDuplicate":
                return duplicate(place, self._type)
        return invalid(place, self._type, detail)


def _message(rule: Rule, variables: Activation) -> str:
    """Evaluate the message; anything but one short line makes the fixed message stand."""
    if rule.message_program is None:
        return ""
    try:
        said = rule.message_program.evaluate(variables)
    except EvaluationError:
        return ""
    text = said.strip() if isinstance(said, str) else ""
    return text if len(text) <= _MESSAGE_LIMIT and "\n" not in text else ""


def _typed(level: Structural, value: Any) -> Any:
    """Return a value with whole numbers as floats where the schema says `number`, as CEL's types want it."""
    if level.schema.get("type") == "number" and isinstance(value, int):
        return float(value)
    if not _has_numbers(level):
        return value
    if isinstance(value, dict):
        typed = {}
        for key, inner in value.items():
            known = level.properties.get(key, level.additional)
            typed[key] = inner if known is None else _typed(known, inner)
        return typed
    if isinstance(value, list) and level.items is not None:
        items = level.items
        return [_typed(items, item) for item in value]
    return value


@lru_cache(maxsize=65536)
def _has_numbers(level: Structural) -> bool:
    below = [*level.properties.values(), *filter(None, (level.additional, level.items))]
    return level.schema.get("type") == "number" or any(_has_numbers(each) for each in below)
