"""The names that docs/glossary.md explains are those of the code."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from e2e.support.paths import ROOT

PRODUCT = [path for folder in ("api", "controllers", "operator", "migration") for path in (ROOT / folder).rglob("*.py")]
DEFINITION = re.compile(r"^ *(?:class|def|async def) (\w+)|^ *(\w+): \w", re.MULTILINE)


def explained() -> list[str]:
    text = (ROOT / "docs" / "glossary.md").read_text()
    cells = re.findall(r"^\| (`.*?) \|", text, re.MULTILINE)
    return [name for cell in cells for name in re.findall(r"`(\w+)`", cell)]


def named(path: Path) -> Iterator[str]:
    """What a module names: itself, its folder, and what it defines."""
    yield from (path.stem, path.parent.name)
    for defined, annotated in DEFINITION.findall(path.read_text()):
        yield defined or annotated


def test_every_name_is_in_the_code() -> None:
    names = explained()
    assert len(names) > 25
    assert set(names) - {name for path in PRODUCT for name in named(path)} == set()
