"""Many numbers in few words."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby


def ranges(numbers: Iterable[int]) -> str:
    """`0 to 3, 7`: each number once, neighbours joined where there are three or more."""
    runs = groupby(enumerate(sorted(set(numbers))), key=lambda pair: pair[1] - pair[0])
    return ", ".join(_run([number for _, number in run]) for _, run in runs)


def _run(numbers: list[int]) -> str:
    return f"{numbers[0]} to {numbers[-1]}" if len(numbers) > 2 else ", ".join(map(str, numbers))
