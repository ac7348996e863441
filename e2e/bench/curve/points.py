"""What is measured at which sizes, what follows for larger ones, and how the cost of a unit grows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

SIZES: Final[Mapping[str, Sequence[int]]] = {
    "jobs": (10, 100, 500, 1000, 2000, 5000),
    "replicas": (10, 100, 1000, 3000, 10_000),
    "finished": (1000, 10_000, 50_000, 100_000),
}
"""Jobs of two pods; replicas of one job; finished pods around an operator that starts."""
FIGURES: Final[Mapping[str, Sequence[str]]] = {
    "jobs": ("placed / floor", "lag of Running, s", "lag of Succeeded, s", "CPU per replica, ms", "peak memory, MB"),
    "replicas": (
        "placed / floor",
        "lag of Running, s",
        "lag of Succeeded, s",
        "CPU per replica, ms",
        "peak memory, MB",
    ),
    "finished": ("floor: received, s", "start to ready, s", "CPU until settled, s", "peak memory, MB"),
}
PER_UNIT: Final = frozenset({"placed / floor", "CPU per replica, ms"})
"""Figures that are costs of one unit already; of the others it is the increase from the first size."""
GROWTH: Final = 0.2
"""By so much the cost of a unit may grow from the second size to the last one."""


@dataclass(frozen=True, slots=True)
class Point:
    """The figures at one size, in the order of `FIGURES`."""

    size: int
    figures: tuple[float, ...]
    computed: bool = False
    """Whether they follow from the two sizes measured last, on a straight line."""


def extended(points: Sequence[Point], sizes: Sequence[int]) -> list[Point]:
    """The measured points, and those of larger sizes computed from the last two of them."""
    if len(points) < 2:
        return [*points]
    before, last = points[-2:]

    def at(size: int, number: int) -> float:
        slope = (last.figures[number] - before.figures[number]) / (last.size - before.size)
        return max(last.figures[number] + slope * (size - last.size), 0.0)

    missing = [size for size in sizes if size > last.size]
    numbers = range(len(last.figures))
    return [*points, *(Point(size, tuple(at(size, each) for each in numbers), computed=True) for size in missing)]


def growth(points: Sequence[Point], name: str, number: int) -> float | None:
    """By which share the cost of a unit grows from the second measured size to the last; None if it cannot be said."""
    measured = [point for point in points if not point.computed]
    if len(measured) < 3:
        return None
    first, second, last = measured[0], measured[1], measured[-1]

    def cost(point: Point) -> float:
        if name in PER_UNIT:
            return point.figures[number]
        return (point.figures[number] - first.figures[number]) / (point.size - first.size)

    return cost(last) / cost(second) - 1 if cost(second) > 0 else None
