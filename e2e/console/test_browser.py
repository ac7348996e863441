"""The console of a local cluster in a real browser: at three widths, light and dark, with and without scripts."""

from __future__ import annotations

from pathlib import Path

import pytest
from e2e.console.pictures import PICTURES, bad, look, looked_at, mark
from e2e.migration.page.pictures import FOLDER, NEEDED, stamped
from e2e.support import marks

pytestmark = marks.local  # its pods run


@pytest.mark.parametrize("name", PICTURES)
def test_the_pictures_show_the_pages_as_they_are_now(name: str) -> None:
    assert stamped(FOLDER / f"{name}.png") == mark(), "draw them anew: python -m e2e.console.pictures"


# Nobody else needs a browser, so whoever has none is not asked to install it; .ci/run does.
@pytest.mark.skipif(not all(Path(each).exists() for each in NEEDED), reason="chromium and chromium-driver are missing")
def test_every_page_fits_can_be_read_aloud_and_complains_of_nothing(tmp_path: Path) -> None:
    with looked_at(tmp_path) as address:
        told = look(address, tmp_path)
    assert bad(told) == {}
    assert told["keys"] == {"help": True, "row": 1, "search": "text"}
    assert told["without scripts"] == 4
