"""Python code for the SDK of Trainer v2: what is certain is rewritten, the rest gets a comment that says what to do.

Comments and form of the rest stay as they are.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import libcst as cst
from libcst.codemod import CodemodContext
from libcst.codemod.visitors import AddImportsVisitor, RemoveImportsVisitor
from libcst.metadata import MetadataWrapper, PositionProvider

from training_api.registry import KINDS
from training_migration.code.calls import NotCertain, name_of, rewritten
from training_migration.code.equivalents import CLIENTS, EQUIVALENTS, method_of
from training_migration.code.find import Place, Use, uses

MARK: Final = "# migrate: "
_STATEMENTS: Final = (
    cst.SimpleStatementLine, cst.If, cst.While, cst.For, cst.With, cst.Try, cst.FunctionDef, cst.ClassDef
)  # fmt: skip
"""What can have comments above itself."""


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A module after the move."""

    code: str
    certain: int
    """How many places have been rewritten."""
    left: tuple[tuple[int, str], ...]
    """Lines of the code as it was, each with what has to be done there by hand."""


def rewrite(code: str) -> Rewritten:
    """The same for v2's SDK; raises SyntaxError for what is no Python."""
    places = uses(ast.parse(code), code)
    if not places:
        return Rewritten(code, 0, ())
    wrapper = MetadataWrapper(cst.parse_module(code))
    work = _Rewriter({(each.line, each.column, each.name): each for each in places if each.use is not Use.IMPORT})
    module = wrapper.visit(work)
    if work.certain:
        context = CodemodContext()
        for name in sorted(work.imports):
            package, _, attribute = name.rpartition(".")
            AddImportsVisitor.add_needed_import(context, package, attribute)
        for name in CLIENTS:
            RemoveImportsVisitor.remove_unused_import(context, "kubeflow.training", name)
        RemoveImportsVisitor.remove_unused_import(context, "kubeflow.training", "constants")
        module = RemoveImportsVisitor(context).transform_module(AddImportsVisitor(context).transform_module(module))
    return Rewritten(module.code, work.certain, tuple(work.left))


class _Rewriter(cst.CSTTransformer):
    METADATA_DEPENDENCIES = (PositionProvider,)

    def __init__(self, places: Mapping[tuple[int, int, str], Place]) -> None:
        super().__init__()
        self.places = places
        self.certain = 0
        self.imports: set[str] = set()
        self.left: list[tuple[int, str]] = []
        self.marks: list[list[str]] = [[]]
        """What has to be said above each statement that is being left; the innermost is the last."""

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.BaseExpression:
        """Rewrite a call of the client, or say why not."""
        start = self.get_metadata(PositionProvider, original_node).start
        place = self.places.get((start.line, start.column, name_of(original_node.func)))
        if place is None:
            self._manifest(original_node)
            return updated_node
        if place.use is Use.MODEL:
            self._leave(place, f"{place.name} has no counterpart; `migrate convert` shows the TrainJob of such a job")
            return updated_node
        try:
            result = rewritten(place, updated_node)
        except NotCertain as why:
            self._leave(place, str(why) or f"{place.name}: {EQUIVALENTS[method_of(place.name)]}")
            return updated_node
        self.certain += 1
        self.imports |= result.imports
        for remark in result.remarks:
            self._leave(place, remark)
        return result.node

    def leave_Dict(self, original_node: cst.Dict, updated_node: cst.Dict) -> cst.Dict:
        """Mark a manifest."""
        self._manifest(original_node)
        return updated_node

    def leave_SimpleString(self, original_node: cst.SimpleString, updated_node: cst.SimpleString) -> cst.SimpleString:
        """Mark a manifest."""
        self._manifest(original_node)
        return updated_node

    def leave_FormattedString(
        self, original_node: cst.FormattedString, updated_node: cst.FormattedString
    ) -> cst.FormattedString:
        """Mark a manifest."""
        self._manifest(original_node)
        return updated_node

    def _manifest(self, node: cst.CSTNode) -> None:
        start = self.get_metadata(PositionProvider, node).start
        for kind in (*KINDS, "{}"):
            place = self.places.get((start.line, start.column, kind))
            if place is not None and place.use is Use.MANIFEST:
                what = "a job" if kind == "{}" else f"a {kind}"
                self._leave(place, f"this makes {what} of v1; `migrate convert` shows the TrainJob of one")

    def _leave(self, place: Place, text: str) -> None:
        self.left.append((place.line, text))
        if text not in self.marks[-1]:
            self.marks[-1].append(text)

    def on_visit(self, node: cst.CSTNode) -> bool:
        """Begin to collect what has to be said above a statement."""
        if isinstance(node, _STATEMENTS):
            self.marks.append([])
        return super().on_visit(node)

    def on_leave(self, original_node: cst.CSTNodeT, updated_node: cst.CSTNodeT) -> Any:
        """Say it."""
        left = super().on_leave(original_node, updated_node)
        if isinstance(original_node, _STATEMENTS) and isinstance(left, cst.CSTNode):
            return left.with_changes(leading_lines=self._with_marks(getattr(left, "leading_lines", ())))
        return left

    def _with_marks(self, lines: Sequence[cst.EmptyLine]) -> list[cst.EmptyLine]:
        known = {line.comment.value for line in lines if line.comment}
        new = [f"{MARK}{text}" for text in self.marks.pop()]
        return [*lines, *(cst.EmptyLine(comment=cst.Comment(text)) for text in new if text not in known)]
