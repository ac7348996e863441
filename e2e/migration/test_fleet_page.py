"""The page of a survey in a real browser, on a telephone and on a screen, with and without scripts."""

from __future__ import annotations

from pathlib import Path

import pytest
from e2e.migration.page.content import JOBS
from e2e.migration.page.pictures import FOLDER, NEEDED, look, mark, stamped
from e2e.support import marks

pytestmark = marks.local  # it needs no API server at all


@pytest.mark.parametrize("name", ["narrow", "wide"])
def test_the_pictures_show_the_page_as_it_is_now(name: str) -> None:
    assert stamped(FOLDER / f"fleet-{name}.png") == mark(), "draw them anew: python -m e2e.migration.page"


# Only these tests need a browser, so it need not be installed; .ci/run does it.
@pytest.mark.skipif(not all(Path(each).exists() for each in NEEDED), reason="chromium and chromium-driver are missing")
def test_everything_works_at_the_width_of_a_telephone_and_of_a_screen(tmp_path: Path) -> None:
    result = look(tmp_path)
    for width in ("narrow", "wide"):
        assert result[width] == {
            "all": JOBS - 40,
            "overflow": 0,
            "verdict": 7,
            "namespace": 40,
            "owner": 42,
            "kind": 38,
            "groups": ["speech (62)", "vision (48)", "robotics (42)", "none (38)", "ads (35)", "search (35)"],
            "cause": 19,
            "diff": True,
            "complaints": [],
        }
    assert result["without scripts"] == {"all": JOBS - 40, "form hidden": True}
    assert sorted(each.name for each in tmp_path.iterdir()) == ["fleet-narrow.png", "fleet-wide.png"]
