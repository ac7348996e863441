"""What is shown of events: of a job and its pods, from all that a namespace has; no effects."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from training_api.printable import legible
from training_console.model.reducing import reduced
from training_controllers.model.records import Owner
from training_operator.kube.resources import Resource

MOST_EVENTS: Final = 200
"""Of one job, the latest."""
LONGEST_MESSAGE: Final = 1_024
"""As the API server lets them be."""


@dataclass(frozen=True, slots=True)
class EventRow:
    """One event, reduced; records of a cache must have the first five fields."""

    namespace: str
    name: str
    uid: str
    version: str
    owner: Owner | None
    seen: str
    """When last, RFC 3339."""
    type: str
    reason: str
    message: str
    count: int
    object_name: str
    object_uid: str


def events() -> Resource[EventRow]:
    """Return the resource of events."""
    return Resource("", "v1", "events", "Event", reduced(_row))


def _row(stored: Mapping[str, Any]) -> EventRow:
    metadata, series, about = stored["metadata"], stored.get("series") or {}, stored["involvedObject"]
    seen = series.get("lastObservedTime") or stored.get("lastTimestamp") or stored.get("eventTime")
    return EventRow(
        metadata["namespace"],
        metadata["name"],
        metadata["uid"],
        metadata.get("resourceVersion", ""),
        None,
        str(seen or stored.get("firstTimestamp") or metadata.get("creationTimestamp") or ""),
        sys.intern(str(stored.get("type") or "")),
        sys.intern(legible(str(stored.get("reason") or ""), 128)),
        legible(str(stored.get("message") or ""), LONGEST_MESSAGE),
        int(series.get("count") or stored.get("count") or 1),
        str(about.get("name") or ""),
        str(about.get("uid") or ""),
    )


def concerning(rows: Iterable[EventRow], uids: Collection[str]) -> list[EventRow]:
    """Return those about some objects, the latest first."""
    found = [row for row in rows if row.object_uid in uids]
    found.sort(key=lambda row: row.seen, reverse=True)
    return found[:MOST_EVENTS]
