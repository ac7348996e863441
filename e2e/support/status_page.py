"""The tables of `docs/status.md`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from e2e.support.paths import ROOT


def rows(heading: str) -> Iterator[list[str]]:
    """The cells of the rows of the first table below a heading."""
    table = (ROOT / "docs" / "status.md").read_text().split(f"## {heading}\n")[1].split("\n## ")[0]
    for line in table.splitlines():
        if line.startswith("| `"):
            yield [cell.strip() for cell in line.strip("|").split(" | ")]


IN_WORDS_OF_OTHERS = {
    "CrashLoopBackOff", "CreateContainerConfigError", "CreateContainerError", "ErrImagePull", "Error", "Evicted",
    "ImagePullBackOff", "InvalidImageName", "OOMKilled", "SchedulingGated", "Unschedulable",
}  # fmt: skip
"""What the kubelet and the scheduler say, and the operator passes on; the page has examples."""


@cache
def event_reasons() -> frozenset[str]:
    """Reasons of events on the page; `<Kind>` and the like stand for a word."""
    return frozenset(word for row in rows("Events") for word in re.findall(r"`([^`]+)`", row[0]))


@cache
def is_documented(reason: str) -> bool:
    """Whether the page has this reason of an event."""
    return reason in IN_WORDS_OF_OTHERS or any(
        re.fullmatch(re.sub(r"<\w+>", r"[A-Za-z]+", known), reason) for known in event_reasons()
    )
