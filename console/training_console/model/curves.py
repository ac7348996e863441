"""Numbers that a program prints next to a name, such as `loss 0.42` or `lr=1e-3`, as curves; no effects."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

MOST_CURVES: Final = 12
MOST_POINTS: Final = 400
"""Of one curve: neighbours are averaged beyond that."""
FEWEST_POINTS: Final = 3
MOST_NAMES: Final = 1_000
"""Looked at in one log."""
LONGEST_LINE: Final = 4_000
"""Characters of a line that are looked at."""
WIDTH: Final = 320.0
HEIGHT: Final = 120.0

PAIR: Final = re.compile(
    r"(?<![\w.])([A-Za-z][\w./-]{0,39})[\"']?\s{0,4}[=:\s]\s{0,4}(-?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)(?![\w.]*[\w])"
)
"""`name value`, `name=value`, `name: value`, also in JSON and Python's dictionaries."""
COUNTERS: Final = frozenset(
    {
        "step",
        "steps",
        "epoch",
        "epochs",
        "round",
        "iteration",
        "iter",
        "batch",
        "rank",
        "worker",
        "global_step",
        "line",
        "pid",
        "port",
    }
)
"""Names that say where one is, not how well it goes."""


@dataclass(slots=True)
class Curve:
    """What was printed next to one name, in the order of the log."""

    name: str
    values: list[float] = field(default_factory=list)

    @property
    def shown(self) -> list[float]:
        """The values, averaged in groups where there are many."""
        size = math.ceil(len(self.values) / MOST_POINTS)
        return [sum(part) / len(part) for part in (self.values[n : n + size] for n in range(0, len(self.values), size))]

    @property
    def points(self) -> str:
        """Of the line in the drawing, as SVG has them."""
        shown = self.shown
        low, high = min(shown), max(shown)
        span = (high - low) or 1.0
        step = WIDTH / max(len(shown) - 1, 1)
        return " ".join(f"{n * step:.1f},{HEIGHT - (v - low) / span * HEIGHT:.1f}" for n, v in enumerate(shown))

    @property
    def title(self) -> str:
        """First, last, least and greatest value."""
        values = self.values
        low, high = min(values), max(values)
        return f"{values[0]:.4g} to {values[-1]:.4g}, between {low:.4g} and {high:.4g}, {len(values)} values"


def measured(line: str) -> Iterator[tuple[str, float]]:
    """Yield the names and numbers of one line that say how well training goes."""
    for name, text in PAIR.findall(line[:LONGEST_LINE]):
        value = float(text)
        if name.lower() not in COUNTERS and math.isfinite(value):
            yield name, value


def curves(lines: Iterable[str]) -> list[Curve]:
    """Return the curves with the most values; what is printed fewer than three times is none."""
    found: dict[str, Curve] = {}
    for line in lines:
        for name, value in measured(line):
            if name in found or len(found) < MOST_NAMES:
                found.setdefault(name, Curve(name)).values.append(value)
    kept = [each for each in found.values() if len(each.values) >= FEWEST_POINTS and len(set(each.values)) > 1]
    kept.sort(key=lambda each: (-len(each.values), each.name))
    return kept[:MOST_CURVES]
