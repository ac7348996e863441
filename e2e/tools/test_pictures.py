"""The pictures in the documentation are what the programs draw of recorded runs."""

from __future__ import annotations

import json

from e2e.integrations.monitoring import picture
from e2e.integrations.monitoring.dashboard import PANELS
from e2e.tools.pictures import FILE, svg


def test_the_picture_of_the_live_view_is_current_and_asks_nobody() -> None:
    drawn = svg()
    assert FILE.read_text(encoding="utf-8") == drawn, "draw it again: python -m e2e.tools.pictures"
    assert "url(http" not in drawn


def test_the_picture_of_the_dashboard_shows_the_recorded_run() -> None:
    seen = json.loads(picture.RECORDING.read_text())
    assert set(seen) == {query.expression for panel in PANELS for query in panel.queries}, (
        "queries changed: python -m e2e.integrations.monitoring record"
    )
    assert picture.FILE.read_text(encoding="utf-8") == picture.svg(), "run python -m e2e.integrations.monitoring"


def test_the_dashboard_counts_in_whole_numbers() -> None:
    seen = json.loads(picture.RECORDING.read_text())
    counts = {panel.title: picture.shown(seen, panel) for panel in PANELS if panel.unit == "short"}
    assert all(counts.values()), "a panel of the picture is empty"
    assert [title for title, series in counts.items() for _, line in series if any(v % 1 for _, v in line)] == []
