"""How long the name of a TrainJob may be."""

from __future__ import annotations

from typing import Final

LONGEST: Final = 63
"""Characters of the name of a pod."""
RANDOM: Final = 6
"""A hyphen and five characters, which the Job controller adds."""


def room_for(group: str, count: int) -> int:
    """Characters that the name may have, so that the last pod of a replicated job of this name gets a valid one."""
    return LONGEST - RANDOM - len(f"-{group}-0-{max(count - 1, 0)}")
