"""docs/security.md promises only what a test shows, or says why a threat is accepted."""

from __future__ import annotations

import ast
import re
from functools import cache

import pytest
from e2e.support.paths import ROOT

PAGE = (ROOT / "docs" / "security.md").read_text()
TEST = re.compile(r"`([\w/]+\.py)::(test_\w+)`")
ACCEPTED = re.compile(r"accepted, because .{20,}")


def tables(page: str) -> list[list[list[str]]]:
    """The cells of each table by row, without the line below its head."""
    found = re.findall(r"(?:^\|.*\|$\n?)+", page, re.MULTILINE)
    rows = [[re.split(r" ?(?<!\\)\| ?", line)[1:-1] for line in text.splitlines()] for text in found]
    return [[row for row in table if set("".join(row)) != {"-"}] for table in rows]


def unshown(evidence: str) -> list[str]:
    """What is wrong with a last cell: tests that there are not, or words that are neither tests nor a reason."""
    if ACCEPTED.fullmatch(evidence):
        return []
    others = TEST.sub("", evidence).strip(", ")
    named = [f"{file}::{name}" for file, name in TEST.findall(evidence) if name not in defined_in(file)]
    return named + [others] * bool(others) + ["nothing"] * (not evidence.strip())


@cache
def defined_in(file: str) -> frozenset[str]:
    """The names of the tests of a module; none if it is not there, or holds no tests."""
    path = ROOT / file
    if not path.is_file() or not path.name.startswith("test_"):
        return frozenset()
    nodes = ast.walk(ast.parse(path.read_text()))
    return frozenset(node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


ROWS = [row for table in tables(PAGE) for row in table[1:]]


def test_every_table_says_what_shows_its_rows() -> None:
    assert [table[0][-1] for table in tables(PAGE)] == ["shown by"] * 4
    assert len(ROWS) > 30


@pytest.mark.parametrize("row", ROWS, ids=lambda row: " ".join(row)[:60])
def test_every_row_names_its_tests_or_a_reason(row: list[str]) -> None:
    assert unshown(row[-1]) == []


def test_every_threat_has_its_letter_and_every_letter_its_threats() -> None:
    threats = next(table for table in tables(PAGE) if table[0][1] == "threat")
    assert [row[0] for row in threats[1:]] == sorted((row[0] for row in threats[1:]), key="STRIDE".index)
    assert {row[0] for row in threats[1:]} == set("STRIDE")


def test_no_promise_stands_in_a_list_beside_the_tables() -> None:
    assert re.findall(r"^ *[*-] .*", PAGE, re.MULTILINE) == []


@pytest.mark.parametrize(
    "evidence",
    [
        "",
        "accepted",
        "accepted, because",
        "it is well known",
        "`unit_tests/repository/test_security_page.py`",
        "`unit_tests/repository/test_security_page.py::test_that_there_is_not`",
        "`unit_tests/repository/test_nothing.py::test_x`",
        "`e2e/conftest.py::cluster`",
    ],
)
def test_what_shows_nothing_is_found(evidence: str) -> None:
    assert unshown(evidence) != []
