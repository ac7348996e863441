"""JSON lines of a file that a program is writing."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def json_lines(file: Path, since: int = 0) -> Iterator[dict[str, Any]]:
    """The objects after so many bytes, one per whole line that begins with "{".

    The last line may be cut anywhere, also within a character: it is left out until its end is written.
    """
    with file.open("rb") as lines:
        lines.seek(since)
        written = lines.read()
    for line in written[: written.rfind(b"\n") + 1].decode().splitlines():
        if line.startswith("{"):
            yield json.loads(line)
