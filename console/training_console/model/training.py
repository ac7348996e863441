"""How far training is: as a TrainJob's status tells it, or as the last lines of a job's logs do; no effects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from training_api.printable import legible
from training_console.model.curves import measured
from training_local.run.endings import moment
from training_local.show.steps import Steps

MOST_NUMBERS: Final = 3
"""Next to the steps, for example the loss."""


@dataclass(frozen=True, slots=True)
class Training:
    """What was said last."""

    share: float | None
    """Of the whole, from 0 to 1; None where nothing tells."""
    steps: str
    """As `120/2000`; empty where nothing tells."""
    numbers: tuple[str, ...]
    """As `loss 0.42`."""
    told_by: str
    """A replica, or the TrainJob's status."""
    at: datetime | None
    """When it was said."""


def training_of(logs: Mapping[str, Sequence[tuple[str, str]]]) -> Training | None:
    """Look into the last lines of replicas, each with its stamp; None if they tell nothing.

    Steps are those of the replica that is behind, numbers those of the first one that prints any.
    """
    steps = Steps()
    numbers: dict[str, float] = {}
    told_by, at = "", ""
    for replica, lines in logs.items():
        found: dict[str, float] = {}
        for stamp, text in lines:
            steps.take(replica, text)
            if said := dict(measured(text)):
                found |= said
                at = max(at, stamp)
        if found and not numbers:
            numbers, told_by = found, replica
    slowest = steps.slowest
    if slowest is None and not numbers:
        return None
    done, total = slowest or (0, 0)
    return Training(
        min(done / total, 1.0) if total else None,
        f"{done}/{total}" if total else "",
        _chosen(numbers.items()),
        told_by or next(iter(logs)),
        moment(at or max((stamp for lines in logs.values() for stamp, _ in lines), default="")),
    )


def of_train_job(status: Mapping[str, Any]) -> Training | None:
    """Read what a TrainJob's status says, which is there if the trainer reports it."""
    told = status.get("trainerStatus") or {}
    percent = told.get("progressPercentage")
    metrics = ((str(each["name"]), float(each["value"])) for each in told.get("metrics") or ())
    numbers = _chosen(metrics)
    if percent is None and not numbers:
        return None
    share = None if percent is None else min(max(int(percent), 0), 100) / 100
    return Training(share, "", numbers, "its status", moment(told.get("lastUpdatedTime")))


def _chosen(numbers: Iterable[tuple[str, float]]) -> tuple[str, ...]:
    """A few numbers, what is called a loss first."""
    known = sorted(numbers, key=lambda pair: "loss" not in pair[0].lower())
    return tuple(f"{legible(name, 40)} {value:.4g}" for name, value in known[:MOST_NUMBERS])
