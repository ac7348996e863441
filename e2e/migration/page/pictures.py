"""Pictures of the page of a survey, each with a mark of the page that it shows."""

from __future__ import annotations

import hashlib
import json
import struct
import subprocess
import tempfile
import zlib
from pathlib import Path
from typing import Any, Final

from e2e.harness.environment import environment
from e2e.migration.page.content import html
from e2e.support.paths import ROOT

FOLDER: Final = ROOT / "docs" / "pictures"
CONSTRAINTS: Final = Path(__file__).parent / "constraints.txt"
NEEDED: Final = ("/usr/bin/chromium", "/usr/bin/chromedriver")
"""Of Debian's packages `chromium` and `chromium-driver`."""
_SIGNATURE: Final = 8
_HEADER: Final = 25
"""Bytes of a PNG's first piece, behind which a text may stand."""
_KEY: Final = b"page\0"


def look(folder: Path) -> dict[str, Any]:
    """Open the page in a browser; pictures go to the folder, what was seen comes back."""
    python = environment("browser", CONSTRAINTS) / "python"
    with tempfile.NamedTemporaryFile("w", suffix=".html", encoding="utf-8") as page:
        page.write(html())
        page.flush()
        command = [str(python), "-m", "e2e.migration.page.look", page.name, str(folder)]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=120.0)
    assert done.returncode == 0, done.stderr[-4000:]
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def mark() -> str:
    """What the page is known by."""
    return hashlib.sha256(html().encode()).hexdigest()


def stamp(picture: Path, known_by: str) -> None:
    """Write the mark of a page into its picture, where no viewer shows it."""
    content = picture.read_bytes()
    text = b"tEXt" + _KEY + known_by.encode()
    piece = struct.pack(">I", len(text) - 4) + text + struct.pack(">I", zlib.crc32(text))
    place = _SIGNATURE + _HEADER
    picture.write_bytes(content[:place] + piece + content[place:])


def stamped(picture: Path) -> str:
    """The mark in a picture."""
    return picture.read_bytes().partition(_KEY)[2][:64].decode("ascii", "replace")
