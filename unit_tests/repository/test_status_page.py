"""`docs/status.md` has every reason to wait and every event that the operator emits, and no others."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from e2e.support.paths import ROOT

from training_controllers.model.plan import WaitingReason

PAGE = (ROOT / "docs" / "status.md").read_text()
SOURCES = ROOT / "controllers" / "training_controllers"
REASON_OF = {"JobEvent": 1, "emit": 1}
"""Functions to which the reason of an event is given, and at which place."""
IN_SENTENCES = {"DisruptionTarget"}
"""Reasons of pods that are part of a message only."""
IN_WORDS_OF_OTHERS = {"Error", "OOMKilled", "ImagePullBackOff", "Unschedulable"}
"""Examples on the page of what the kubelet and the scheduler say."""


def rows(heading: str) -> Iterator[list[str]]:
    """The cells of the rows of the first table below a heading."""
    table = PAGE.split(f"## {heading}\n")[1].split("\n## ")[0]
    for line in table.splitlines():
        if line.startswith("| `"):
            yield [cell.strip() for cell in line.strip("|").split(" | ")]


def documented() -> set[str]:
    """Reasons of events on the page, `*` for what differs from job to job."""
    words = {word for row in rows("Events") for word in re.findall(r"`([^`]+)`", row[0])}
    return {re.sub(r"<\w+>", "*", word) for word in words - IN_WORDS_OF_OTHERS}


def emitted() -> set[str]:
    """Reasons of events in the sources, `*` for what is put in when they are emitted."""
    return {text for file in SOURCES.rglob("*.py") for text in _reasons(ast.parse(file.read_text()))} - {
        "*",
        "**",
        "",
        *IN_SENTENCES,
    }


def _reasons(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            place = REASON_OF.get(name)
            if place is not None and len(node.args) > place:
                kind = "*" if name == "emit" else ""
                yield from (kind + text for text in _texts(node.args[place]))
            for keyword in node.keywords:
                if (keyword.arg or "").endswith("_reason"):
                    yield from _texts(keyword.value)
        elif isinstance(node, ast.AnnAssign | ast.Assign):
            yield from _assigned(node)
        elif isinstance(node, ast.FunctionDef) and node.name.endswith("_created"):
            returned = (each.value for each in ast.walk(node) if isinstance(each, ast.Return))
            yield from (text for each in returned if isinstance(each, ast.Tuple) for text in _texts(each.elts[0]))


def _assigned(node: ast.AnnAssign | ast.Assign) -> Iterator[str]:
    """What is given to variables named after reasons, alone or together with a message."""
    value = node.value
    for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            pairs = list(zip(target.elts, value.elts, strict=True))
        else:
            pairs = [(target, value)] if value is not None else []
        for name, given in pairs:
            if isinstance(name, ast.Name) and (name.id == "reason" or name.id.endswith("_reason")):
                yield from _texts(given)


def _texts(node: ast.expr) -> Iterator[str]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.JoinedStr):
        yield "".join(part.value if isinstance(part, ast.Constant) else "*" for part in node.values)
    elif isinstance(node, ast.BoolOp | ast.IfExp):
        yield from (
            text for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr) for text in _texts(child)
        )


def test_every_event_is_on_the_page_and_no_other() -> None:
    page, code = documented(), emitted()
    assert len(code) > 20
    assert {text for text in code if not _has(page, text)} == set()
    assert {text for text in page if not _has(code, text)} == set()


def _has(texts: set[str], wanted: str) -> bool:
    """Whether one of the texts is the wanted one, where `*` stands for a word."""
    return any(_fits(text, wanted) or _fits(wanted, text) for text in texts)


def _fits(pattern: str, text: str) -> bool:
    return re.fullmatch(re.escape(pattern).replace(r"\*", r"[A-Za-z*]+"), text) is not None


def test_every_reason_to_wait_is_on_the_page_in_the_order_of_their_urgency() -> None:
    assert [row[0].strip("`") for row in rows("What a job waits for")] == list(WaitingReason)
