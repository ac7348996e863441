"""Recorded data: JSON with one object per line, so that a change shows which objects changed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def text_of(content: Any, depth: int) -> str:
    """The file that keeps `content`: what lies `depth` containers deep has a line each; keys are in order."""
    return _spread(content, depth, "") + "\n"


def write(path: Path, content: Any, depth: int) -> None:
    """Keep `content` in a file."""
    path.parent.mkdir(exist_ok=True)
    path.write_text(text_of(content, depth), encoding="utf-8")


def _spread(value: Any, depth: int, indent: str) -> str:
    if depth == 0 or not value or not isinstance(value, dict | list):
        return json.dumps(value, sort_keys=True, ensure_ascii=False)
    if isinstance(value, list):
        opening, closing = "[]"
        lines = [_spread(each, depth - 1, indent + " ") for each in value]
    else:
        opening, closing = "{}"
        lines = [f"{json.dumps(key)}: {_spread(each, depth - 1, indent + ' ')}" for key, each in sorted(value.items())]
    return f"{opening}\n" + ",\n".join(f"{indent} {line}" for line in lines) + f"\n{indent}{closing}"
