"""Rules of v1 that anything speaks of are on their page, each with the tests that show it."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import pytest
from e2e.support.documentation.rules_of_v1 import MISSING, NO_TEST, ROW, shown, written
from e2e.support.paths import ROOT

TEXT = (ROOT / "docs" / "rules-of-v1.md").read_text()
RULES = {row[3]: row for row in ROW.finditer(TEXT)}
RULE = re.compile(r"(?<![\w./-])(?:(?:K|E|PT|TF|XGB|MPI|PD|JAX|INT)-\d+|SDK-[AS]?\d+(?:\.\d+)*)\b")
SUFFIXES = (".py", ".md", ".yaml", ".toml", "")
INVENTED = "K-" + "99"
"""A rule that there is not, in two parts so that this file does not cite it."""


@cache
def texts(root: Path = ROOT) -> Mapping[str, str]:
    """Everything that people have written, by path."""
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, cwd=root, capture_output=True, text=True, check=True).stdout.splitlines()
    return {
        name: (root / name).read_text() for name in names if Path(name).suffix in SUFFIXES if (root / name).is_file()
    }


def unknown(text: str) -> set[str]:
    return {*RULE.findall(text)} - RULES.keys()


def test_every_rule_that_is_cited_is_on_the_page() -> None:
    assert {path: rules for path, text in texts().items() if (rules := unknown(text))} == {}


@pytest.mark.parametrize(
    "path", ["controllers/a.py", "unit_tests/a/test_b.py", "docs/page.md", "deploy/d.yaml", "Makefile"]
)
def test_an_invented_rule_is_found(path: str, tmp_path: Path) -> None:
    subprocess.run(["git", "init", "--quiet"], cwd=tmp_path, check=True)
    (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / path).write_text(f"As in v1 (K-01, {INVENTED}).\n")
    assert {name: unknown(text) for name, text in texts(tmp_path).items()} == {path: {INVENTED}}


def test_every_rule_has_an_anchor_and_a_row_of_its_own() -> None:
    assert [anchor for _, anchor, _, _ in (row.groups() for row in RULES.values())] == [rule.lower() for rule in RULES]
    assert TEXT.count("<a id=") == len(RULES), "a row is not of the form that `ROW` says"


def test_every_rule_has_a_test_or_a_reason() -> None:
    assert [rule for rule, row in RULES.items() if row[4] == MISSING] == []
    assert [rule for rule, row in RULES.items() if row[4].startswith(NO_TEST) and rule in shown()] == []


def test_tests_are_named_by_what_holds() -> None:
    named = re.compile(r"def (test_(?:k|e|pt|tf|xgb|mpi|pd|jax|int)_?\d{2,3}_\w+)")
    assert [name for path, text in texts().items() if path.endswith(".py") for name in named.findall(text)] == []


def test_marks_of_tests_and_cases_are_found(tmp_path: Path) -> None:
    (tmp_path / "e2e").mkdir()
    (tmp_path / "e2e" / "test_a.py").write_text(
        '@pytest.mark.shows("K-01", "E-002")\nasync def test_x() -> None: ...\n'
        '@pytest.mark.shows("K-03")\ndef not_a_test() -> None: ...\n'
    )
    (tmp_path / "e2e" / "some_cases.yaml").write_text("- name: a\n  shows: [K-01, PT-001]\n")
    assert shown(tmp_path) == {
        "K-01": {"some_cases.yaml", "test_x"},
        "E-002": {"test_x"},
        "PT-001": {"some_cases.yaml"},
    }


def test_a_rule_without_test_keeps_its_reason() -> None:
    reason, bare = (
        f'| <a id="x-1"></a>X-1 | It holds. | keep | {cell} |' for cell in ("no test: cannot", "`test_gone`")
    )
    assert written(reason) == reason
    assert written(bare).endswith(f"| {MISSING} |")


def test_pages_link_to_the_rules_that_they_speak_of() -> None:
    bare = {
        path: found
        for path, text in texts().items()
        if path.startswith("docs/") and (found := re.findall(rf"(?<!\[)(?<!</a>){RULE.pattern}(?!\]\()", _prose(text)))
    }
    assert bare == {}


def _prose(text: str) -> str:
    """The text without anchors of links and code."""
    return re.sub(r"\]\([^)]*\)|`[^`\n]*`", lambda found: "](" if found[0][0] == "]" else "", text)


def test_documents_that_are_cited_are_in_the_repository() -> None:
    names = {Path(path).name for path in texts()} | {"page.md", "readme.md", "notes.md"}  # of tests, of a release
    ours = {path: re.sub(r"https?://\S+", "", text) for path, text in texts().items()}
    cited = {path: {*re.findall(r"\b[\w-]+\.md\b", text)} - names for path, text in ours.items()}
    assert {path: lost for path, lost in cited.items() if lost} == {}
    assert [path for path, text in texts().items() if re.search(r"\.md(?: section)? \d", text)] == [], (
        "sections have no numbers"
    )
