"""Events on jobs, none of them twice for the same cause (K-39)."""

from __future__ import annotations

from training_controllers.engine.memory import Target
from training_controllers.engine.model import EventType, JobEvent
from training_controllers.ports import Events


class Announcer:
    """Records events unless what they tell has been told already."""

    def __init__(self, events: Events) -> None:
        self._events = events

    def tell(self, target: Target, event: JobEvent) -> None:
        """Record the event; one with a key only the first time."""
        if event.once is None or target.memory.first_time(event.once):
            self._events.record(target.record, event)

    def done(self, target: Target, reason: str, message: str) -> None:
        """Record that something was done."""
        self._events.record(target.record, JobEvent(EventType.NORMAL, reason, message))

    def trouble(self, target: Target, what: str, reason: str, message: str, error: Exception) -> None:
        """Record that `what` fails, when it begins to fail or fails in a new way, but not on each retry."""
        sort = type(error).__name__
        if target.memory.troubles.get(what) != sort:
            target.memory.troubles[what] = sort
            self._events.record(target.record, JobEvent(EventType.WARNING, reason, message))

    def well(self, target: Target, what: str) -> None:
        """Note that `what` works: the next time it fails is news."""
        target.memory.troubles.pop(what, None)
