"""Draws docs/pictures/fleet-*.png, the page of a survey in Chromium: `python -m e2e.migration.page`."""

from __future__ import annotations

from e2e.migration.page.pictures import FOLDER, look, mark, stamp

if __name__ == "__main__":
    look(FOLDER)
    for picture in sorted(FOLDER.glob("fleet-*.png")):
        stamp(picture, mark())
        print(picture)
