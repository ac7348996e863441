"""How far training is, as its log lines say; no effects."""

from __future__ import annotations

import re
from typing import Final

STEPS_DONE: Final = re.compile(
    r"\b(?:step|epoch|round|iteration|iter|batch)\w*\W{1,3}(\d+)\s*(?:/|of)\s*(\d+)|\b(\d+)/(\d+) \[\d", re.IGNORECASE
)
"""How training scripts commonly report progress: `step 12/60`, `Epoch [2/10]`, and the bars of tqdm."""


class Steps:
    """What the replicas said last about their steps."""

    def __init__(self) -> None:
        self._said: dict[str, tuple[int, int]] = {}

    def take(self, replica: str, text: str) -> None:
        """Look for progress in a replica's log line."""
        if found := STEPS_DONE.search(text):
            done, total = (int(number) for number in found.groups() if number is not None)
            if total > 0:
                self._said[replica] = done, total

    @property
    def slowest(self) -> tuple[int, int] | None:
        """Return the steps of the replica that is behind, for a step is done when all have done it; None before any."""
        return min(self._said.values(), key=lambda said: said[0] / said[1], default=None)
