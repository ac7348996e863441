"""Every rule of the engine is shown by a test, amended by a decision, or there is a reason why not."""

from __future__ import annotations

import re

import pytest
from e2e.checklists import ROOT
from e2e.engine_checklist import PAGE, exists, items, page, rules, shown

SPEC = ROOT.parent / "shared" / "spec" / "engine.md"


def test_every_rule_has_an_answer_of_a_known_sort() -> None:
    assert list(rules()) == items()
    others = [answer for item, answer in rules().items() if item not in shown()]
    assert {sort for answer in others for sort in answer} == {"amended", "untested"}


def test_the_tests_that_are_named_exist() -> None:
    assert {item: test for item, test in shown().items() if not exists(test)} == {}


def test_items_are_amended_by_defects_that_a_test_shows() -> None:
    amended = {
        item: answer["amended"] for item, answer in rules().items() if "amended" in answer and item not in shown()
    }
    assert {item: defect for item, defect in amended.items() if item[0] != "E" or defect not in shown()} == {}


def test_the_page_is_current() -> None:
    assert PAGE.read_text() == page(), "run `python -m e2e.engine_checklist`"


def test_no_rule_is_forgotten() -> None:
    if not SPEC.is_file():
        pytest.skip(f"the rules themselves are not here: {SPEC.name} beside the project")
    text = SPEC.read_text()
    stated = [
        *re.findall(r"^\d+\. (E-\d{3}):", text, re.MULTILINE),
        *re.findall(r"^\* \*\*(K-\d\d)\*\*", text, re.MULTILINE),
    ]
    assert sorted(stated) == sorted(items())
