"""Events on jobs, with dedup: none of them twice for the same cause (K-39), and one for many objects."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import msgspec

from training_controllers.model.plan import EventType, JobEvent
from training_controllers.ports import Events
from training_controllers.reconcile.memory import JobContext

SINGLY: Final = 3
"""Up to so many objects have an event each, as in v1; more of them with the same message share one."""
NAMED: Final = 10
"""So many of these are named in it."""


class EventDedup:
    """Records events unless they have been recorded already."""

    def __init__(self, events: Events) -> None:
        self._events = events

    def emit(self, context: JobContext, *events: JobEvent) -> None:
        """Record what belongs together; an event with a key only the first time."""
        fresh = [each for each in events if each.once is None or context.memory.first_time(each.once)]
        for event in combined(fresh):
            self._events.record(context.record, event)

    def emit_normal(self, context: JobContext, reason: str, message: str) -> None:
        """Record that something was done."""
        self._events.record(context.record, JobEvent(EventType.NORMAL, reason, message))

    def emit_error(self, context: JobContext, what: str, reason: str, message: str, error: Exception) -> None:
        """Record that `what` fails, when it begins to fail or fails in a new way, but not on each retry."""
        error_type = type(error).__name__
        if context.memory.reported_errors.get(what) != error_type:
            context.memory.reported_errors[what] = error_type
            self._events.record(context.record, JobEvent(EventType.WARNING, reason, message))

    def clear_error(self, context: JobContext, what: str) -> None:
        """Note that `what` works: the next time it fails is news."""
        context.memory.reported_errors.pop(what, None)


def combined(events: Iterable[JobEvent]) -> Iterator[JobEvent]:
    """The events in the order in which their likes came first; more than `SINGLY` alike as one."""
    alike: dict[tuple[str, ...], list[JobEvent]] = {}
    for number, event in enumerate(events):
        text = event.message.replace(event.about, "") if event.about else str(number)
        alike.setdefault((event.type, event.reason, text), []).append(event)
    for group in alike.values():
        yield from group if len(group) <= SINGLY else [_of_all(group)]


def _of_all(events: Sequence[JobEvent]) -> JobEvent:
    """One event for all objects, with the message of the first: `Created pods: a, b, c`."""
    first, names = events[0], sorted((each.about for each in events), key=lambda name: (len(name), name))
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    message = first.message.replace(": ", "s: ", 1).replace(first.about, ", ".join(names[:NAMED]) + more)
    return msgspec.structs.replace(first, message=message, once=None)
