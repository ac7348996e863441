"""Which tests show which rules of v1: the last column of `docs/rules-of-v1.md`, taken from the marks of the tests."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Final

from e2e.support.paths import ROOT

TESTS: Final = ("unit_tests", "e2e")
ROW: Final = re.compile(r'^(\| <a id="(.+?)"></a>(.+?) \| .* \| (?:keep|fix|add) \|) (.*) \|$', re.MULTILINE)
"""A row of the page: all but the last cell, anchor, rule, last cell."""
NO_TEST: Final = "no test: "
"""Begins the last cell of a rule that no test shows; the reason follows."""
MISSING: Final = "**no test**"
_CASES: Final = re.compile(r"^ +shows: \[(.*)\]$", re.MULTILINE)


def written(text: str) -> str:
    """The page with the tests as they are now; a reason why there is none stays."""
    return ROW.sub(
        lambda row: f"{row[1]} {_tests(row[3]) or (row[4] if row[4].startswith(NO_TEST) else MISSING)} |", text
    )


def _tests(rule: str) -> str:
    return ", ".join(f"`{name}`" for name in sorted(shown().get(rule, ())))


@cache
def shown(root: Path = ROOT) -> Mapping[str, set[str]]:
    """The tests that show each rule: functions marked with it, files of cases that name it."""
    found: dict[str, set[str]] = defaultdict(set)
    for file in (path for folder in TESTS for path in (root / folder).rglob("*")):
        if file.name.startswith("test_") and file.suffix == ".py":
            marks = _marks(file.read_text())
        elif file.name.endswith("_cases.yaml"):
            marks = ((file.name, rule) for rules in _CASES.findall(file.read_text()) for rule in rules.split(", "))
        else:
            continue
        for name, rule in marks:
            found[rule].add(name)
    return found


def _marks(source: str) -> Iterator[tuple[str, str]]:
    """Names of the tests in a module, each with the rules that `@pytest.mark.shows` gives it."""
    if "pytest.mark.shows(" not in source:
        return
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
            for mark in node.decorator_list:
                if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "pytest.mark.shows":
                    yield from ((node.name, ast.literal_eval(rule)) for rule in mark.args)
