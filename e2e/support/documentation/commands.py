"""The commands that pages show, and how it is known that they work: a comment before each block says it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from e2e.support.paths import ROOT

BLOCK: Final = re.compile(
    r"^(?:<!-- commands: ([^\n]*?) -->\n)?```(?:console|bash)\n(.*?)^```$", re.MULTILINE | re.DOTALL
)
"""Evidence and text of a block: `console` has prompts and may show output, `bash` has commands only."""
ON_A_CLUSTER: Final = "executed by e2e/tools/test_documented_commands.py on a cluster"
ON_THIS_MACHINE: Final = "executed by e2e/tools/test_documented_commands.py on this machine"
BESIDE_JOBS: Final = "executed by e2e/tools/test_documented_commands.py beside jobs that run"
EXECUTED: Final = "executed by "
"""Followed by the test that runs the block as it stands on the page."""
SHOWN: Final = "shown by "
"""Followed by the files that do the same: tests, or what CI runs."""
BY_HAND: Final = "by hand"
"""Followed by when and how."""


@dataclass(frozen=True, slots=True)
class Block:
    """One block of commands on a page."""

    page: str
    evidence: str
    """What the comment says; empty without one."""
    commands: tuple[str, ...]


def pages() -> list[Path]:
    """Everything that shows commands to users and developers."""
    folders = (ROOT / name for name in ("docs", "e2e", "examples"))
    return [ROOT / "README.md", *(page for folder in folders for page in sorted(folder.rglob("*.md")))]


def blocks() -> Iterator[Block]:
    """All blocks of commands, in the order of pages and lines."""
    for page in pages():
        for evidence, text in BLOCK.findall(page.read_text()):
            commands = re.findall(r"^\$ (.*)$", with_prompts(text), re.MULTILINE)
            yield Block(str(page.relative_to(ROOT)), evidence, tuple(commands))


def with_prompts(text: str) -> str:
    """A block with a prompt before each command, where it has none."""
    return text if re.search(r"^\$ ", text, re.MULTILINE) else re.sub(r"^(?=\S)", "$ ", text, flags=re.MULTILINE)
