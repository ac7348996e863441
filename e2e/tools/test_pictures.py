"""The picture in the documentation is what the program draws."""

from __future__ import annotations

from e2e.tools.pictures import FILE, svg


def test_the_picture_of_the_live_view_is_current_and_asks_nobody() -> None:
    drawn = svg()
    assert FILE.read_text(encoding="utf-8") == drawn, "draw it anew: python -m e2e.tools.pictures"
    assert "url(http" not in drawn
