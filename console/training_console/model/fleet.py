"""All jobs together: how many over time, who uses the accelerators, and what waits longest; no effects."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from training_console.model.jobs import JobRow
from training_local.durations import human

COLUMNS: Final = 96
"""Of the drawing of jobs over time."""
WIDTH: Final = 960.0
HEIGHT: Final = 160.0
LONGEST_WAITING: Final = 20
LAYERS: Final = ("Running", "Waiting")


@dataclass(frozen=True, slots=True)
class Layer:
    """One state in the drawing: the outline of its area."""

    state: str
    points: str


@dataclass(frozen=True, slots=True)
class OverTime:
    """Jobs that exist still, by state, from the first one's creation until now."""

    layers: tuple[Layer, ...]
    most: int
    span: str


def over_time(rows: Sequence[JobRow], now: datetime, longest: timedelta = timedelta(days=7)) -> OverTime | None:
    """Count jobs that ran and that waited at moments of at most the `longest` time; None if there are none."""
    begun = [row.created for row in rows if row.created]
    if not begun:
        return None
    first = max(min(begun), now - longest)
    step = max((now - first) / COLUMNS, timedelta(seconds=1))
    moments = [first + step * column for column in range(COLUMNS + 1)]
    running = _at(moments, [(row.running_since, row.completed) for row in rows])
    waiting = _at(moments, [(row.created, row.running_since or row.completed) for row in rows])
    most = max(map(sum, zip(running, waiting, strict=True))) or 1
    below = [0] * len(moments)
    layers = []
    for state, counts in zip(LAYERS, (running, waiting), strict=True):
        above = [low + count for low, count in zip(below, counts, strict=True)]
        layers.append(Layer(state, _outline(below, above, most)))
        below = above
    return OverTime(tuple(layers), most, human((now - first).total_seconds()))


def _at(moments: Sequence[datetime], spans: Sequence[tuple[datetime | None, datetime | None]]) -> list[int]:
    """How many of the spans hold each moment; one without an end continues."""
    changes: Counter[int] = Counter()
    step = (moments[-1] - moments[0]) / (len(moments) - 1)
    for begun, ended in spans:
        if begun is None:
            continue
        column = -(-(begun - moments[0]) // step) if begun > moments[0] else 0
        until = len(moments) if ended is None else max(-(-(ended - moments[0]) // step), 0)
        if column < until:
            changes[column] += 1
            changes[until] -= 1
    counts, now = [], 0
    for column in range(len(moments)):
        now += changes[column]
        counts.append(now)
    return counts


def _outline(below: Sequence[int], above: Sequence[int], most: int) -> str:
    def point(column: int, count: int) -> str:
        return f"{column * WIDTH / (len(above) - 1):.1f},{HEIGHT - count * HEIGHT / most:.1f}"

    upper = [point(column, count) for column, count in enumerate(above)]
    lower = [point(column, count) for column, count in enumerate(below)]
    return " ".join((*upper, *reversed(lower)))


@dataclass(frozen=True, slots=True)
class Usage:
    """What the jobs of a namespace request and have had."""

    namespace: str
    jobs: int
    running: int
    accelerators: int
    """Requested by jobs that run."""
    hours: float
    """Accelerators times hours, of all jobs that exist still."""


def usage(rows: Sequence[JobRow], now: datetime) -> list[Usage]:
    """Add up by namespace, the greatest first."""
    by_namespace: dict[str, list[JobRow]] = {}
    for row in rows:
        by_namespace.setdefault(row.namespace, []).append(row)
    found = [
        Usage(
            namespace,
            len(jobs),
            sum(job.state == "Running" for job in jobs),
            sum(job.accelerators for job in jobs if job.state == "Running"),
            sum(job.accelerators * _hours(job, now) for job in jobs),
        )
        for namespace, jobs in by_namespace.items()
    ]
    return sorted(found, key=lambda each: (-each.hours, -each.jobs, each.namespace))


def _hours(row: JobRow, now: datetime) -> float:
    if row.running_since is None:
        return 0.0
    return max(((row.completed or now) - row.running_since).total_seconds(), 0.0) / 3600


def longest_waiting(rows: Sequence[JobRow]) -> list[JobRow]:
    """Return those that have not ended and do not run, the oldest first."""
    waiting = [row for row in rows if not row.ended and row.created and (row.why or row.state not in ("Running",))]
    return sorted(waiting, key=lambda row: row.created or datetime.max)[:LONGEST_WAITING]
