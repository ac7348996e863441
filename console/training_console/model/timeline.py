"""What a job went through, as lanes of spans and marks on one axis of time; no effects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any, Final

from training_api.printable import legible
from training_console.model.events import EventRow
from training_console.model.pods import PodRow
from training_console.model.queues import WorkloadRow
from training_local.durations import human
from training_local.run.endings import moment

MOST_LANES: Final = 24
"""Replicas with a lane of their own; of a larger job those that failed or restarted come first."""
MOST_MARKS: Final = 200
WIDTH: Final = 1000.0
"""Of the drawing, in its own units."""
FEW_SECONDS: Final = 10.0
SHORTEST: Final = 2.0
"""A span that is over at once can still be seen."""


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of a lane."""

    begun: datetime
    ended: datetime | None
    style: str
    title: str


@dataclass(frozen=True, slots=True)
class Mark:
    """A moment in a lane."""

    at: datetime
    style: str
    title: str


@dataclass(frozen=True, slots=True)
class Lane:
    """One line of the drawing."""

    label: str
    spans: tuple[Span, ...] = ()
    marks: tuple[Mark, ...] = ()


@dataclass(frozen=True, slots=True)
class Drawn:
    """A span or mark as the drawing has it: from `x`, so wide."""

    x: float
    width: float
    style: str
    title: str


@dataclass(frozen=True, slots=True)
class Timeline:
    """All lanes, placed between the first moment and the last."""

    lanes: tuple[tuple[str, tuple[Drawn, ...], tuple[Drawn, ...]], ...]
    begun: datetime
    ended: datetime
    left_out: int = 0
    """Replicas without a lane."""

    @property
    def ticks(self) -> list[tuple[float, str]]:
        """Five moments of the axis: where, and how long after the beginning."""
        seconds = (self.ended - self.begun).total_seconds()
        told = human if seconds >= FEW_SECONDS else "{:.1f}s".format
        return [(WIDTH * part / 4, told(seconds * part / 4)) for part in range(5)]


def timeline(
    job: Mapping[str, Any],
    pods: Sequence[PodRow],
    events: Iterable[EventRow],
    workload: WorkloadRow | None,
    now: datetime,
) -> Timeline | None:
    """Place what is known of a job; None before it exists."""
    created = moment(job["metadata"].get("creationTimestamp"))
    if created is None:
        return None
    status = job.get("status") or {}
    conditions = status.get("conditions") or []
    shown = sorted(pods, key=lambda pod: not (pod.failures or pod.replica.restarts))[:MOST_LANES]
    known = {pod.name for pod in shown}
    lanes = [
        Lane("job", tuple(_states(created, conditions, status.get("waiting") or {})), tuple(_marks(events))),
        *_queue(workload),
        *(_lane(pod) for pod in pods if pod.name in known),
    ]
    moments = [m for lane in lanes for span in lane.spans for m in (span.begun, span.ended)]
    ended = next((moment(c["lastTransitionTime"]) for c in conditions if _is_end(c)), None)
    last = max((m for m in (*moments, ended) if m), default=created)
    last = max(last, created + timedelta(seconds=1)) if ended else max(now, created + timedelta(seconds=1))
    return Timeline(tuple(_placed(lane, created, last) for lane in lanes), created, last, len(pods) - len(shown))


def _is_end(condition: Mapping[str, Any]) -> bool:
    return condition["type"] in ("Succeeded", "Failed") and condition["status"] == "True"


def _queue(workload: WorkloadRow | None) -> Iterable[Lane]:
    """How long the job waits, or has waited, until Kueue admitted it last."""
    if workload is not None and workload.created is not None:
        title = f"waits in the queue {workload.queue}" + (f": {workload.why}" if workload.waits else "")
        yield Lane("queue", (Span(workload.created, workload.admitted, "Pending", title),))


def _states(created: datetime, conditions: Iterable[Mapping[str, Any]], waiting: Mapping[str, Any]) -> Iterable[Span]:
    """The states of the job, one after the other; the API keeps the last change of each only.

    What the job waits for, such as its gang, is told with the last one.
    """
    changes = [(created, "Created", "")]
    for condition in conditions:
        at, style = moment(condition.get("lastTransitionTime")), condition["type"]
        # Running and Restarting are over when something else holds; their time tells still when they began.
        began = condition["status"] == "True" or style in ("Running", "Restarting")
        if at is not None and began and style != "Created":
            changes.append((at, style, legible(condition.get("message", ""))))
    shown = sorted(changes, key=lambda change: change[0])
    for (at, style, title), (until, _, _) in pairwise(shown):
        yield Span(at, until, style, f"{style}: {title}" if title else style)
    at, style, title = shown[-1]
    over = style in ("Succeeded", "Failed")
    told = [style, title, *(legible(str(waiting.get(key) or "")) for key in ("reason", "message") if not over)]
    yield Span(at, at if over else None, style, ": ".join(part for part in told if part))


def _marks(events: Iterable[EventRow]) -> Iterable[Mark]:
    warnings = ((moment(event.seen), event) for event in events if event.type == "Warning")
    return [Mark(at, "Warning", f"{event.reason}: {event.message}") for at, event in warnings if at][:MOST_MARKS]


def _lane(pod: PodRow) -> Lane:
    created = pod.replica.created_at
    spans, begun = [], created
    for run in pod.runs:
        if begun is not None and run.started > begun:
            spans.append(Span(begun, run.started, "Pending", "waits"))
        spans.append(
            Span(run.started, run.ended, "Failed" if run.failed else "Running", "failed" if run.failed else "runs")
        )
        begun = run.ended
    if begun is not None and (not pod.runs or pod.replica.stands == "Waiting"):
        why = legible(str(pod.replica.waiting)) if pod.replica.waiting else "waits"
        spans.append(Span(begun, None, "Pending", why))
    at = pod.replica.changed_at or created
    marks = (Mark(at, "Disrupted", legible(pod.disrupted)),) if pod.disrupted and at else ()
    return Lane(pod.replica.short_name, tuple(spans), marks)


def _placed(lane: Lane, begun: datetime, ended: datetime) -> tuple[str, tuple[Drawn, ...], tuple[Drawn, ...]]:
    whole = (ended - begun).total_seconds()

    def x(at: datetime) -> float:
        return round(min(max((at - begun).total_seconds() / whole, 0.0), 1.0) * WIDTH, 1)

    spans = []
    for span in lane.spans:
        until = span.ended or ended
        width = max(x(until) - x(span.begun), SHORTEST)
        title = f"{span.title} ({human(max((until - span.begun).total_seconds(), 0))})"
        spans.append(Drawn(min(x(span.begun), WIDTH - width), width, span.style, title))
    return lane.label, tuple(spans), tuple(Drawn(x(mark.at), 0, mark.style, mark.title) for mark in lane.marks)
