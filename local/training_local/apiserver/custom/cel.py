"""CEL rules of custom resources (`x-kubernetes-validations`), evaluated with the library common-expression-language.

Not covered: the optional syntax (`self.?a`), the cost budget, typed values of `format` (they stay strings).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any

from training_api import quantity
from training_local.apiserver.custom.cel_library import STDLIB_FUNCTIONS, cel
from training_local.apiserver.custom.schema_validation import compiled, item_key, keyed_items
from training_local.apiserver.custom.structural import Structural
from training_local.apiserver.errors import Cause, Json, duplicate, forbidden_value, invalid, required

_STRING = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\"""")
_OLD_SELF = re.compile(r"\boldSelf\b")
_STEP = re.compile(r"\.(?P<name>[^.\[]+)|\['(?P<key>[^']+)'\]")
_MESSAGE_LIMIT = 5 * 1024


class CompileError(Exception):
    """A rule that cannot be compiled; the text says why."""


class PathError(Exception):
    """A `fieldPath` that leads to no field of the schema."""


def _is_quantity(text: str) -> bool:
    try:
        quantity.parse(text)
    except ValueError:
        return False
    return True


def _find(text: str, pattern: str) -> str:
    found = compiled(pattern).search(text)
    return found[0] if found else ""


def _find_all(text: str, pattern: str, limit: int = -1) -> list[str]:
    found = [match[0] for match in compiled(pattern).finditer(text)]
    return found if limit < 0 else found[:limit]


def _index_of(within: Any, item: Any) -> int:
    if isinstance(within, str):
        return within.find(item)
    return within.index(item) if item in within else -1


FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    **STDLIB_FUNCTIONS,
    "find": _find,
    "findAll": _find_all,
    "isQuantity": _is_quantity,
    "isSorted": lambda items: all(one <= other for one, other in pairwise(items)),
    "indexOf": _index_of,
}
"""Functions of Kubernetes' CEL environment beyond the core language."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A compiled validation rule."""

    program: cel.Program
    text: str
    message: str
    message_program: cel.Program | None
    reason: str
    field_path: str
    """Below the place of the rule: `.field` for fields, `[key]` for entries of maps."""
    uses_old: bool
    optional_old: bool


@lru_cache(maxsize=2048)
def program(text: str) -> cel.Program:
    """Compile an expression; raise `CompileError` with the parser's sentence."""
    try:
        return cel.compile(text)
    except ValueError as error:
        raise CompileError(str(error)) from None


def compile_rule(declared: Json, level: Structural) -> Rule:
    """Compile one entry of `x-kubernetes-validations`; raise `CompileError` if that cannot be done."""
    text = declared["rule"].strip()
    expression = declared.get("messageExpression", "")
    return Rule(
        program=program(text),
        text=text,
        message=declared.get("message", "").strip(),
        message_program=program(expression) if expression else None,
        reason=declared.get("reason", ""),
        field_path=field_path(declared.get("fieldPath", ""), level),
        uses_old=_OLD_SELF.search(_STRING.sub("", text)) is not None,
        optional_old=bool(declared.get("optionalOldSelf")),
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
        now, before = self._visible(value), None if old is None else self._visible(old)
        contexts: dict[bool, cel.Context] = {}
        for rule in self._rules:
            if (rule.uses_old and old is None and not rule.optional_old) or not (changed or rule.uses_old):
                continue
            optional = rule.uses_old and rule.optional_old
            if optional not in contexts:
                contexts[optional] = _context(now, before, optional)
            if (cause := self._evaluate(rule, contexts[optional], path)) is not None:
                yield cause

    def _visible(self, value: Any) -> Any:
        """Return what a rule may see: at the root, of the metadata only the names."""
        if self._root and isinstance(value, dict):
            meta = value.get("metadata", {})
            names = {key: meta[key] for key in ("name", "generateName") if key in meta}
            value = {**value, "metadata": names}
        return _typed(self._level, value)

    def _evaluate(self, rule: Rule, context: cel.Context, path: str) -> Cause | None:
        shown = path or "<nil>"
        try:
            holds = rule.program.execute(context)
        except Exception as error:  # the library raises whatever a function raises
            return invalid(shown, self._type, f"{_error_text(error)} evaluating rule: {rule.message or rule.text}")
        if holds is True:
            return None
        place = f"{path}{rule.field_path}".removeprefix(".") if rule.field_path else shown
        detail = _message(rule, context) or rule.message or f"failed rule: {rule.text}"
        match rule.reason:
            case "FieldValueForbidden":
                return forbidden_value(place, detail)
            case "FieldValueRequired":
                return required(place, detail)
            case "FieldValueDuplicate":
                return duplicate(place, self._type)
        return invalid(place, self._type, detail)


def _context(now: Any, before: Any, optional: bool) -> cel.Context:
    """Return the variables of rules; converted to CEL's types once for all rules of a place."""
    variables = {"self": now}
    if optional:
        variables["oldSelf"] = cel.OptionalValue.none() if before is None else cel.OptionalValue.of(before)
    elif before is not None:
        variables["oldSelf"] = before
    return cel.Context(variables=variables, functions=dict(FUNCTIONS))


def _message(rule: Rule, context: cel.Context) -> str:
    """Evaluate the message; anything but one short line makes the fixed message stand."""
    if rule.message_program is None:
        return ""
    try:
        said = rule.message_program.execute(context)
    except Exception:  # the library raises whatever a function raises
        return ""
    text = said.strip() if isinstance(said, str) else ""
    return text if len(text) <= _MESSAGE_LIMIT and "\n" not in text else ""


def _error_text(error: Exception) -> str:
    if isinstance(error, KeyError):
        return f"no such key: {error.args[0]}"
    return str(error).partition("\n")[0]


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
