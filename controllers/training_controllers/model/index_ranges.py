"""Sets of replica indexes as text, for example `0-3,7` (K-13)."""

from __future__ import annotations

from collections.abc import Collection
from itertools import groupby

LARGEST_INDEX = 1_000_000
"""Far more replicas than an API server can hold; a stored text that goes further is not ours."""


def parse_ranges(text: str) -> frozenset[int]:
    """The indexes in `text`; none if it is not a text that `format_ranges` could have written."""
    indexes: set[int] = set()
    for part in text.split(",") if text else ():
        first, dash, last = part.partition("-")
        ends = (first, last if dash else first)
        if not all(end.isascii() and end.isdigit() and len(end) < 8 for end in ends):
            return frozenset()
        start, stop = map(int, ends)
        if not start <= stop <= LARGEST_INDEX:
            return frozenset()
        indexes.update(range(start, stop + 1))
    return frozenset(indexes)


def format_ranges(indexes: Collection[int]) -> str:
    """The shortest text for `indexes`, ascending."""
    runs = groupby(enumerate(sorted(indexes)), key=lambda item: item[1] - item[0])
    return ",".join(_run([index for _, index in run]) for _, run in runs)


def _run(indexes: list[int]) -> str:
    return str(indexes[0]) if len(indexes) == 1 else f"{indexes[0]}-{indexes[-1]}"
