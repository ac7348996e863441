"""Metrics of two runs, step by step."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from training_migration.comparison.rows import Answer, Row
from training_migration.runs.record import RunRecord, Series

Key = tuple[str, int]
"""Name of a metric, and rank."""


@dataclass(frozen=True, slots=True)
class Gap:
    """The step at which two curves are farthest apart."""

    step: int
    v1: float | None
    v2: float | None

    @property
    def relative(self) -> float:
        """The difference as a share of the larger value; infinite where only one of them is a number."""
        if self.v1 is None or self.v2 is None:
            return 0.0 if self.v1 is self.v2 else float("inf")
        size = max(abs(self.v1), abs(self.v2))
        return abs(self.v1 - self.v2) / size if size else 0.0


def metric_rows(v1: RunRecord, v2: RunRecord, tolerance: float | None) -> Iterator[Row]:
    """One row for each metric; none where neither side has any."""
    first, second = _by_key(v1), _by_key(v2)
    for name in sorted({name for name, _ in first.keys() | second.keys()}):
        yield _row(name, first, second, tolerance)
    if tolerance is not None and not first and not second:
        yield Row("metrics", "none", "none", Answer.INCONCLUSIVE, "no metrics were recorded")


def _by_key(record: RunRecord) -> Mapping[Key, Series]:
    return {(series.name, series.rank): series for series in record.metrics or ()}


def _row(name: str, v1: Mapping[Key, Series], v2: Mapping[Key, Series], tolerance: float | None) -> Row:
    keys = sorted(key for key in v1.keys() | v2.keys() if key[0] == name)
    texts = (_summary([v1[key] for key in keys if key in v1]), _summary([v2[key] for key in keys if key in v2]))
    aspect = f"metric {name}"
    if tolerance is None:
        return Row(aspect, *texts, Answer.NOTE, "metrics are compared only with a tolerance")
    for key in keys:
        for side, series in (("v1", v1.get(key)), ("v2", v2.get(key))):
            if series is None or not series.points:
                return Row(aspect, *texts, Answer.INCONCLUSIVE, f"{name} of rank {key[1]} is missing on {side}")
    gaps = {key: widest_gap(v1[key], v2[key]) for key in keys}
    for key, gap in gaps.items():
        if gap is None:
            return Row(aspect, *texts, Answer.INCONCLUSIVE, f"{name} of rank {key[1]} has no step on both sides")
        if gap.relative > tolerance:
            what = f"{_number(gap.v1)} on v1, {_number(gap.v2)} on v2"
            where = f"{name} of rank {key[1]} at step {gap.step}"
            return Row(aspect, *texts, Answer.DIFFERENT, f"{where} is {what}, more than {tolerance:g} apart")
    return Row(aspect, *texts, Answer.EQUAL)


def widest_gap(v1: Series, v2: Series) -> Gap | None:
    """The largest relative difference at a step that both have; None where they have none in common."""
    first, second = dict(v1.points), dict(v2.points)
    gaps = [Gap(step, first[step], second[step]) for step in sorted(first.keys() & second.keys())]
    return max(gaps, key=lambda gap: gap.relative, default=None)


def _summary(series: list[Series]) -> str:
    """First and last value of each rank, of few of them."""
    texts = [
        f"rank {each.rank}: {_number(each.points[0][1])} to {_number(each.points[-1][1])} in {len(each.points)} steps"
        for each in series[:2]
        if each.points
    ]
    return ", ".join(texts + [f"{len(series) - 2} more"] * (len(series) > 2)) or "none"


def _number(value: float | None) -> str:
    return "no number" if value is None else f"{value:.4g}"
