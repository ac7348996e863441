"""Every item of the checklists is proved by a test that names it, or there is a reason why not."""

from __future__ import annotations

import re

import pytest
from e2e.checklists import COUNTS, PAGE, ROOT, WITHOUT_TEST, items, named, page

SPEC = ROOT.parent / "shared" / "spec" / "frameworks.md"


def test_every_item_has_a_test_or_a_reason() -> None:
    found = named()
    assert [item for item in items() if item not in found and item not in WITHOUT_TEST] == []
    assert [item for item in WITHOUT_TEST if item in found or item not in items()] == []


def test_the_page_is_current() -> None:
    assert PAGE.read_text() == page(), "run `python -m e2e.checklists`"


def test_no_item_is_forgotten() -> None:
    if not SPEC.is_file():
        pytest.skip(f"the checklists themselves are not here: {SPEC.name} beside the project")
    stated = re.findall(rf"^- ((?:{'|'.join(COUNTS)})-\d{{3}}) ", SPEC.read_text(), re.MULTILINE)
    assert sorted(stated) == sorted(items())
