"""How long the name of a TrainJob may be."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from training_migration.convert.names import LONGEST, RANDOM
from training_migration.lint.checks import Spot


def too_long(name: str, groups: Iterable[tuple[str, int]]) -> Iterator[Spot]:
    """A name that leaves no room for what v2 adds to it; `groups` are replicated jobs with their numbers of pods."""
    added = [f"-{group}-0-{max(count - 1, 0)}" for group, count in groups]
    longest = max(added, key=len, default="")
    room = LONGEST - RANDOM - len(longest)
    if added and len(name) > room:
        message = (
            f"the name has {len(name)} characters and may have {room}: a pod's name has {LONGEST}, of which"
            f" {LONGEST - room} are for '{longest}' and a random ending."
        )
        yield Spot(message, "metadata.name")
