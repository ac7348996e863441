"""What programs inside of pods report in their logs: JSON behind a marker, maybe after the words of others."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any


def marked(lines: Iterable[str], marker: str) -> Iterator[dict[str, Any]]:
    """Each object behind the marker; what is broken is left out."""
    for line in lines:
        _, found, text = line.partition(marker)
        try:
            value = json.loads(text) if found else None
        except ValueError:
            continue
        if isinstance(value, dict):
            yield value
