"""Sets of replica indexes as ranges, and as text, for example `0-3,7` (K-13).

What they cost depends on the number of ranges, not of indexes: a million replicas that are all missing are one range.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Set
from itertools import groupby
from operator import attrgetter
from typing import Any, Final

LARGEST_INDEX = 1_000_000
"""Far more replicas than an API server can hold; a stored text that goes further is not ours."""


class IndexRanges(Set[int]):
    """An immutable set of indexes: ranges in ascending order that neither overlap nor touch."""

    __slots__ = ("ranges",)

    def __init__(self, ranges: Iterable[range] = ()) -> None:
        """Take any ranges with step 1."""
        filled = [each for each in ranges if each]
        if len(filled) > 1:
            filled = _joined(filled)
        self.ranges = tuple(filled)

    @classmethod
    def of(cls, indexes: Iterable[int]) -> IndexRanges:
        """The set of these indexes."""
        ascending = sorted({*indexes})
        if not ascending:
            return NONE
        if ascending[-1] - ascending[0] == len(ascending) - 1:  # without a gap, as nearly always
            return cls((range(ascending[0], ascending[-1] + 1),))
        runs = groupby(enumerate(ascending), key=lambda item: item[1] - item[0])
        ends = ([index for _, index in run] for _, run in runs)
        return cls(range(run[0], run[-1] + 1) for run in ends)

    @classmethod
    def _from_iterable(cls, it: Iterable[Any]) -> IndexRanges:  # type: ignore[override]  # of indexes only
        """What the operators make that are not defined here."""
        return cls.of(it)

    @classmethod
    def below(cls, count: int) -> IndexRanges:
        """The first `count` indexes; none for a negative number."""
        return cls([range(count)])

    def up_to(self, count: int) -> IndexRanges:
        """Those of the first `count` indexes that are in the set."""
        return IndexRanges(range(each.start, min(each.stop, count)) for each in self.ranges)

    def __contains__(self, index: object) -> bool:
        if not isinstance(index, int):
            return False
        place = bisect_right(self.ranges, index, key=lambda each: each.start)
        return place > 0 and index in self.ranges[place - 1]

    def __iter__(self) -> Iterator[int]:
        return (index for each in self.ranges for index in each)

    def __len__(self) -> int:
        return sum(map(len, self.ranges))

    def __or__(self, other: Set[int]) -> IndexRanges:  # type: ignore[override]  # of indexes only
        added = _ranges(other)
        return IndexRanges((*self.ranges, *added)) if added else self

    def __sub__(self, other: Set[object]) -> IndexRanges:
        holes = _ranges(other)
        return IndexRanges(_cut(self.ranges, holes)) if holes else self

    def __str__(self) -> str:
        """The shortest text, ascending."""
        return ",".join(str(each[0]) if len(each) == 1 else f"{each[0]}-{each[-1]}" for each in self.ranges)


NONE: Final = IndexRanges()
"""The set without any index."""


def parse_ranges(text: str) -> IndexRanges:
    """The indexes in `text`; none if it is not a text that `IndexRanges` could have written."""
    if not text:
        return NONE
    ranges: list[range] = []
    for part in text.split(","):
        first, dash, last = part.partition("-")
        ends = (first, last if dash else first)
        if not all(end.isascii() and end.isdigit() and len(end) < 8 for end in ends):
            return NONE
        start, stop = map(int, ends)
        if not start <= stop <= LARGEST_INDEX:
            return NONE
        ranges.append(range(start, stop + 1))
    return IndexRanges(ranges)


def _joined(ranges: list[range]) -> list[range]:
    """The same indexes in ranges that are in order and do not touch."""
    joined: list[range] = []
    for each in sorted(ranges, key=attrgetter("start")):
        if joined and each.start <= joined[-1].stop:
            joined[-1] = range(joined[-1].start, max(joined[-1].stop, each.stop))
        else:
            joined.append(each)
    return joined


def _ranges(indexes: Set[int] | Set[object]) -> tuple[range, ...]:
    if isinstance(indexes, IndexRanges):
        return indexes.ranges
    return IndexRanges.of(each for each in indexes if isinstance(each, int)).ranges


def _cut(ranges: tuple[range, ...], holes: tuple[range, ...]) -> Iterator[range]:
    """What is left of the ranges without the holes; both are in order, so each is looked at once."""
    nearest = 0
    for each in ranges:
        start = each.start
        while nearest < len(holes) and holes[nearest].start < each.stop:
            hole = holes[nearest]
            yield range(start, max(hole.start, start))
            start = max(start, hole.stop)
            if hole.stop > each.stop:
                break  # it reaches into the next range, perhaps
            nearest += 1
        yield range(start, max(each.stop, start))
