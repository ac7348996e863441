"""How Python code asks for variables: whether it fails where one is missing, or continues without it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from training_migration.lint.variables import NUMBERS


class Manner(StrEnum):
    """What happens where the variable is missing."""

    FAILS = "fails"
    GOES_ON = "continues"
    SETS = "sets"
    """The code sets it by itself."""


@dataclass(frozen=True, slots=True)
class Access:
    """One place that asks for a variable."""

    name: str
    line: int
    manner: Manner


_ENDS: Final = frozenset({"exit", "_exit", "quit", "abort", "fail"})
_NUMBERS: Final = frozenset({"int", "float"})
_CAUGHT: Final = frozenset({"KeyError", "LookupError", "Exception", "BaseException", "ValueError", "TypeError"})


def accesses(tree: ast.Module) -> Iterator[Access]:
    """Every place that asks for a variable by a name that is written out."""
    # What is nested too deep to be walked has been made by a program.
    with suppress(RecursionError):
        yield from _Reader(tree).read(tree, Manner.FAILS)


class _Reader:
    """Walks a module, knowing by which names it calls the environment."""

    def __init__(self, tree: ast.Module) -> None:
        self.environs = {"environ"}
        self.getters = {"getenv"}
        self.texts: dict[str, str] = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module == "os":
                self._learn_imports(node)
            elif isinstance(node, ast.Assign):
                self._learn(node)

    def _learn_imports(self, node: ast.ImportFrom) -> None:
        for alias in node.names:
            if alias.asname is not None:
                {"environ": self.environs, "getenv": self.getters}.get(alias.name, set()).add(alias.asname)

    def _learn(self, node: ast.Assign) -> None:
        """Names for the environment (`env = os.environ.copy()`) and for names of variables."""
        value = node.value
        if isinstance(value, ast.Call) and (inner := _copied(value)) is not None:
            value = inner
        for target in node.targets:
            if isinstance(target, ast.Name):
                if self._is_environ(value):
                    self.environs.add(target.id)
                elif isinstance(value, ast.Constant) and isinstance(value.value, str):
                    self.texts[target.id] = value.value

    def _is_environ(self, node: ast.AST) -> bool:
        if isinstance(node, ast.Attribute):
            return node.attr == "environ"
        return isinstance(node, ast.Name) and node.id in self.environs

    def _name(self, node: ast.AST) -> str:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return node.value
        return self.texts.get(node.id, "") if isinstance(node, ast.Name) else ""

    def read(self, node: ast.AST, missing: Manner) -> Iterator[Access]:
        """The accesses below a node; `missing` is what becomes of an exception there."""
        match node:
            case ast.Try():
                inner = Manner.GOES_ON if _survives(node) else missing
                yield from self._each(node.body, inner)
                yield from self._each([*node.handlers, *node.orelse, *node.finalbody], missing)
            case ast.If() | ast.While() | ast.IfExp() | ast.Assert():
                yield from self._tested(node)
                yield from self._each(ast.iter_child_nodes(node), missing)
            case ast.Call() if isinstance(node.func, ast.Name) and node.func.id in _NUMBERS and len(node.args) == 1:
                yield from self._needed(node.args[0], missing)
            case ast.FormattedValue():
                yield from self._needed(node.value, missing)
            case _:
                yield from self._one(node, missing)
                yield from self._each(ast.iter_child_nodes(node), missing)

    def _each(self, nodes: Iterator[ast.AST] | list[ast.AST] | list[ast.stmt], missing: Manner) -> Iterator[Access]:
        for node in nodes:
            yield from self.read(node, missing)

    def _one(self, node: ast.AST, missing: Manner) -> Iterator[Access]:
        """The access that this node itself is."""
        if isinstance(node, ast.Subscript) and self._is_environ(node.value) and (name := self._name(node.slice)):
            yield Access(name, node.lineno, missing if isinstance(node.ctx, ast.Load) else Manner.SETS)
        elif isinstance(node, ast.Call) and (name := self._asked(node)):
            yield Access(name, node.lineno, missing if _is_placeholder(name, node) else Manner.GOES_ON)

    def _asked(self, call: ast.Call) -> str:
        """The variable of `environ.get`, `environ.setdefault`, `environ.pop` with a default, or `getenv`."""
        function = call.func
        if not call.args:
            return ""
        if isinstance(function, ast.Attribute):
            of_environ = function.attr in ("get", "setdefault") and self._is_environ(function.value)
            of_environ |= function.attr == "pop" and self._is_environ(function.value) and len(call.args) > 1
            return self._name(call.args[0]) if of_environ or function.attr == "getenv" else ""
        asks = isinstance(function, ast.Name) and function.id in self.getters
        return self._name(call.args[0]) if asks else ""

    def _needed(self, node: ast.expr, missing: Manner) -> Iterator[Access]:
        """`int(environ.get("X"))` fails where X is missing: None is no number, and no part of an address."""
        if isinstance(node, ast.Call) and len(node.args) == 1 and not node.keywords and (name := self._asked(node)):
            yield Access(name, node.lineno, missing)
        else:
            yield from self.read(node, missing)

    def _tested(self, node: ast.If | ast.While | ast.IfExp | ast.Assert) -> Iterator[Access]:
        """Variables whose presence is tested: it continues without them unless that ends the program."""
        for test in ast.walk(node.test):
            if not isinstance(test, ast.Compare) or not isinstance(test.ops[0], ast.In | ast.NotIn):
                continue
            if self._is_environ(test.comparators[0]) and (name := self._name(test.left)):
                yield Access(name, test.lineno, Manner.FAILS if _fatal(node, test.ops[0]) else Manner.GOES_ON)


def _is_placeholder(name: str, call: ast.Call) -> bool:
    """Whether the default of a number is a text that is none, as `environ.get("RANK", "{}")` for a message."""
    default = call.args[1] if len(call.args) > 1 else None
    if name not in NUMBERS or not isinstance(default, ast.Constant) or not isinstance(default.value, str):
        return False
    return re.fullmatch(r"\s*|\s*-?\d+\s*", default.value) is None


def _copied(call: ast.Call) -> ast.expr | None:
    """What `X.copy()` or `dict(X)` copies."""
    if isinstance(call.func, ast.Attribute) and call.func.attr == "copy":
        return call.func.value
    copies = isinstance(call.func, ast.Name) and call.func.id == "dict" and len(call.args) == 1
    return call.args[0] if copies else None


def _fatal(node: ast.If | ast.While | ast.IfExp | ast.Assert, test: ast.cmpop) -> bool:
    """Whether the program ends where the tested variable is missing."""
    if isinstance(node, ast.Assert):
        return isinstance(test, ast.In)
    if not isinstance(node, ast.If):
        return False
    return _ends(node.body if isinstance(test, ast.NotIn) else node.orelse)


def _ends(body: list[ast.stmt]) -> bool:
    return any(isinstance(each, ast.Raise) or (isinstance(each, ast.Expr) and _exits(each.value)) for each in body)


def _exits(node: ast.expr) -> bool:
    if not isinstance(node, ast.Call):
        return False
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    return name in _ENDS


def _survives(node: ast.Try) -> bool:
    """Whether a missing variable is caught, and the program continues."""
    return any(_catches(handler) and not _ends(handler.body) for handler in node.handlers)


def _catches(handler: ast.ExceptHandler) -> bool:
    types = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(each is None or getattr(each, "id", "") in _CAUGHT for each in types)


def by_manner(found: Iterator[Access]) -> Mapping[Manner, list[Access]]:
    """The accesses by what happens; code that sets a variable, or continues without it, does not also fail."""
    groups: dict[Manner, list[Access]] = {manner: [] for manner in Manner}
    for access in found:
        groups[access.manner].append(access)
    known = {each.name for each in groups[Manner.GOES_ON] + groups[Manner.SETS]}
    groups[Manner.FAILS] = [each for each in groups[Manner.FAILS] if each.name not in known]
    return groups
