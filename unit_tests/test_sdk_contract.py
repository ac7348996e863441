"""Every item of the SDK's contract is proved by a test that names it, or there is a reason why not."""

from __future__ import annotations

import re

import pytest
from e2e.contract import ITEMS, PAGE, ROOT, UNTESTED, named, page

SPEC = ROOT.parent / "shared" / "spec" / "sdk-contract.md"


def test_every_item_has_a_test_or_a_reason() -> None:
    found = named()
    assert [item for item in ITEMS if item not in found and item not in UNTESTED] == []
    assert [item for item in UNTESTED if item in found or item not in ITEMS] == []
    assert [item for item in found if item not in ITEMS] == []


def test_the_page_is_current() -> None:
    assert PAGE.read_text() == page(), "run `python -m e2e.contract`"


def test_no_item_is_forgotten() -> None:
    if not SPEC.is_file():
        pytest.skip(f"the contract itself is not here: {SPEC.name} beside the project")
    sections = dict(re.findall(r"^## (\d+)\. .*\n((?:(?!## ).*\n?)*)", SPEC.read_text(), re.MULTILINE))
    rows = {
        section: len(re.findall(r"^\| (?!thing|stored|method|command)", sections[section], re.M)) for section in "1348"
    }
    listed = {section: len(re.findall(r"^\d+\. ", sections[section], re.M)) for section in "679"}
    # Paragraphs beside tables and lists: round trips, bodies, `kubectl edit`.
    rows["3"] += 1
    rows["8"] += 1
    listed["6"] += 1
    ours = {section: sum(item.startswith(f"{section}.") for item in ITEMS) for section in "1346789"}
    assert ours == rows | listed
    for letter, section in (("A", "2"), ("S", "10")):
        stated = set(re.findall(rf"^\|? ?({letter}\d+) ", sections[section], re.M))
        assert stated == {item for item in ITEMS if item.startswith(letter)}
    bullets = sections["5"].partition("### 5.3")[2].partition("### 5.4")[0]
    assert len(re.findall(r"^\* ", bullets, re.M)) == sum(item.startswith("5.3.") for item in ITEMS)
