"""Every rule of the engine is shown by a test, amended by a decision, or there is a reason why not."""

from __future__ import annotations

import re

import pytest
from e2e.checklists import ROOT
from e2e.engine_checklist import AMENDED, PAGE, PROVED_BY, WITHOUT_TEST, answer, exists, items, named, page

SPEC = ROOT.parent / "shared" / "spec" / "engine.md"


def test_every_rule_has_an_answer() -> None:
    assert [item for item in items() if not answer(item)] == []


def test_the_tests_that_are_named_exist() -> None:
    assert [test for test in PROVED_BY.values() if not exists(test)] == []


def test_items_are_amended_by_defects_that_have_an_answer() -> None:
    assert [item for item, defect in AMENDED.items() if not item.startswith("E") or not answer(defect)] == []


def test_nothing_is_excused_that_a_test_shows() -> None:
    assert [item for item in WITHOUT_TEST if item in named() or item in PROVED_BY or item in AMENDED] == []
    assert [item for item in (*WITHOUT_TEST, *PROVED_BY, *AMENDED) if item not in items()] == []


def test_the_page_is_current() -> None:
    assert PAGE.read_text() == page(), "run `python -m e2e.engine_checklist`"


def test_no_rule_is_forgotten() -> None:
    if not SPEC.is_file():
        pytest.skip(f"the rules themselves are not here: {SPEC.name} beside the project")
    text = SPEC.read_text()
    stated = {
        *re.findall(r"^\d+\. (E-\d{3}):", text, re.MULTILINE),
        *re.findall(r"^\* \*\*(K-\d{2})\*\*", text, re.MULTILINE),
    }
    assert sorted(stated) == sorted(items())
