"""Events on jobs, with dedup: none of them twice for the same cause (K-39)."""

from __future__ import annotations

from training_controllers.model.plan import EventType, JobEvent
from training_controllers.ports import Events
from training_controllers.reconcile.memory import JobContext


class EventDedup:
    """Records events unless they have been recorded already."""

    def __init__(self, events: Events) -> None:
        self._events = events

    def emit(self, context: JobContext, event: JobEvent) -> None:
        """Record the event; one with a key only the first time."""
        if event.once is None or context.memory.first_time(event.once):
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
