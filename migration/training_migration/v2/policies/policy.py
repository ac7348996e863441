"""What every policy of a runtime can do; one module each."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from training_migration.v2.draft import Draft

Json = dict[str, Any]


def _nothing(_: Draft) -> None:
    return None


def _no_objects(_: Draft) -> Iterable[Json]:
    return ()


@dataclass(frozen=True, slots=True)
class Policy:
    """A plugin of Trainer."""

    applies: Callable[[Draft], bool]
    """Whether the runtime asks for it."""
    check: Callable[[Draft], None] = _nothing
    """Raises Denied for what its part of admission rejects."""
    enforce: Callable[[Draft], None] = _nothing
    """Changes the draft."""
    objects: Callable[[Draft], Iterable[Json]] = _no_objects
    """What is made next to the JobSet."""
