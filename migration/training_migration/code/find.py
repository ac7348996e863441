"""Where Python code uses v1's SDK, and where it holds manifests of v1's jobs."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from training_api.constants import API_VERSION, GROUP
from training_api.registry import KINDS
from training_migration.code.equivalents import CLIENTS, MODEL, is_distinct, method_of

_PLURALS: Final = {info.plural: info.kind for info in KINDS.values()}
_VERSION: Final = re.compile(rf"apiVersion[\"']?\s*:\s*[\"']?(?:{re.escape(API_VERSION)}(?![\w.])|\{{\}})")
"""Also one that only the running program knows."""
_COMPONENTS: Final = frozenset(
    {"component", "container_component", "create_component_from_func", "func_to_container_op"}
)
_SDK: Final = re.compile(r"kubeflow\.(?:training|tfjob|pytorchjob|xgboostjob|mpijob)(?:\.|$)")


class Use(StrEnum):
    """What a place has of v1."""

    CLIENT = "client"
    """The client is made."""
    METHOD = "method"
    MODEL = "model"
    IMPORT = "import"
    MANIFEST = "manifest"


@dataclass(frozen=True, slots=True)
class Place:
    """One place in a module."""

    use: Use
    name: str
    """Of the client, method, model or module; of a manifest the kind."""
    line: int
    column: int
    """In characters, from 0."""
    component: bool = False
    """Whether it stands in a component of Kubeflow Pipelines."""


def uses(tree: ast.Module, code: str) -> list[Place]:
    """All places, in the order of the code; none where it is nested too deep to be walked."""
    try:
        return sorted(_Finder(tree, code.split("\n")).places(), key=lambda each: (each.line, each.column))
    except RecursionError:
        return []


class _Finder:
    """Knows by which names a module calls v1's clients."""

    def __init__(self, tree: ast.Module, lines: list[str]) -> None:
        self.tree = tree
        self.lines = lines
        self.classes = set(CLIENTS)
        self.clients: set[str] = set()
        self.models: set[str] = set()
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and _SDK.match(node.module or ""):
                self._learn_import(node)
        for node in ast.walk(tree):
            self._learn(node)
        functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
        self.components = [node for node in functions if _is_component(node)]
        self.parts = {id(each) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for each in node.values}
        """Pieces of texts with values in them."""

    def _learn_import(self, node: ast.ImportFrom) -> None:
        for alias in node.names:
            if alias.name in CLIENTS:
                self.classes.add(alias.asname or alias.name)
            elif MODEL.fullmatch(alias.name):
                self.models.add(alias.asname or alias.name)

    def _learn(self, node: ast.AST) -> None:
        """Names that hold a client."""
        if isinstance(node, ast.Assign) and self._makes_client(node.value):
            self.clients |= {ast.unparse(target) for target in node.targets}
        elif isinstance(node, ast.AnnAssign | ast.NamedExpr) and node.value and self._makes_client(node.value):
            self.clients.add(ast.unparse(node.target))
        elif isinstance(node, ast.arg) and node.annotation and _last(node.annotation) in self.classes:
            self.clients.add(node.arg)

    def _makes_client(self, node: ast.AST) -> bool:
        return isinstance(node, ast.Call) and _last(node.func) in self.classes

    def places(self) -> Iterator[Place]:
        """All of them."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Call):
                yield from self._call(node)
            elif isinstance(node, ast.ImportFrom) and _SDK.match(node.module or ""):
                yield self._place(Use.IMPORT, node.module or "", node)
            elif isinstance(node, ast.Import):
                yield from (self._place(Use.IMPORT, each.name, node) for each in node.names if _SDK.match(each.name))
            elif isinstance(node, ast.expr) and (kind := self._kind_of(node)):
                yield self._place(Use.MANIFEST, kind, node)

    def _kind_of(self, node: ast.expr) -> str:
        """The kind of a manifest that is written out here."""
        if isinstance(node, ast.Dict):
            return _kind_of_dict(node)
        if isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and id(node) not in self.parts):
            return kind_of_text(_text(node))
        return ""

    def _call(self, node: ast.Call) -> Iterator[Place]:
        name = _last(node.func)
        if name in self.classes:
            yield self._place(Use.CLIENT, name, node)
        elif name in self.models or name.startswith("KubeflowOrgV1"):
            yield self._place(Use.MODEL, name, node)
        elif isinstance(node.func, ast.Attribute) and method_of(name):
            owner = node.func.value
            if is_distinct(name) or self._makes_client(owner) or ast.unparse(owner) in self.clients:
                yield self._place(Use.METHOD, name, node)
        elif name.endswith("custom_object") and (kind := _kind_of_resource(node)):
            yield self._place(Use.MANIFEST, kind, node)

    def _place(self, use: Use, name: str, node: ast.stmt | ast.expr) -> Place:
        line = self.lines[node.lineno - 1] if node.lineno <= len(self.lines) else ""
        column = len(line.encode()[: node.col_offset].decode(errors="replace"))
        inside = any(each.lineno <= node.lineno <= (each.end_lineno or 0) for each in self.components)
        return Place(use, name, node.lineno, column, inside)


def _last(node: ast.AST) -> str:
    """The last part of a dotted name."""
    if isinstance(node, ast.Attribute):
        return node.attr
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value.rpartition(".")[2]
    return node.id if isinstance(node, ast.Name) else ""


def _is_component(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    names = (_last(each.func if isinstance(each, ast.Call) else each) for each in node.decorator_list)
    return not _COMPONENTS.isdisjoint(names)


def _text(node: ast.JoinedStr | ast.Constant) -> str:
    """A text; of one with values in it what is written out."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    return "".join(str(each.value) if isinstance(each, ast.Constant) else "{}" for each in node.values)


def kind_of_text(text: str) -> str:
    """The kind of a manifest in a text, `{}` where only the running program knows; empty for another text."""
    if (version := _VERSION.search(text)) is None:
        return ""
    found = re.search(r"kind[\"']?\s*:\s*[\"']?(\w+|\{\})", text)
    kind = found[1] if found else ""
    return kind if kind in KINDS or (kind == "{}" and not version[0].endswith("}")) else ""


def _kind_of_dict(node: ast.Dict) -> str:
    values = {
        _last(key): value for key, value in zip(node.keys, node.values, strict=True) if isinstance(key, ast.Constant)
    }
    version, kind = values.get("apiVersion"), values.get("kind")
    if kind is None or version is None or (isinstance(version, ast.Constant) and version.value != API_VERSION):
        return ""
    if not isinstance(kind, ast.Constant):
        return "{}" if isinstance(version, ast.Constant) else ""
    return str(kind.value) if kind.value in KINDS else ""


def _kind_of_resource(node: ast.Call) -> str:
    """The kind of v1 whose resource a call of Kubernetes' client for custom objects names."""
    given = [*node.args, *(each.value for each in node.keywords)]
    texts = {each.value for each in given if isinstance(each, ast.Constant) and isinstance(each.value, str)}
    return next((kind for plural, kind in _PLURALS.items() if plural in texts), "") if GROUP in texts else ""
