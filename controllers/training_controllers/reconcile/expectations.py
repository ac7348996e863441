"""What the cache has yet to show of this process's own writes (K-06, K-23)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from training_controllers.model.records import PodRecord, Record, ServiceRecord

PATIENCE: Final = 300.0
"""Seconds after which a job is looked at even if the cache has not shown everything."""
UNANSWERED_PATIENCE: Final = 5.0
"""The same for a request without an answer: what it asked for may never come. Asking again does no harm, because names
and uids are certain; a job that stands still after every hiccup of the API server would."""

Sort = type[PodRecord] | type[ServiceRecord]

_Sight = tuple[Sort, str] | str
"""The sort and name of an object that has to appear, or the uid of one that has to vanish."""


class Expectations:
    """What has to appear and to vanish in the cache before a job may be decided on again, by the job's uid.

    Meeting an expectation is taking it out: it can be observed twice, too early or unasked without harm.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._pending: dict[str, dict[_Sight, float]] = {}

    def __len__(self) -> int:
        """The number of jobs of which something is expected."""
        return len(self._pending)

    def expect_creation(self, job: str, sort: Sort, name: str) -> None:
        """Call before the object is created."""
        self._expect(job, (sort, name), PATIENCE)

    def expect_deletion(self, job: str, uid: str) -> None:
        """Call before the object is deleted; it is met as soon as the object is seen to be terminating."""
        self._expect(job, uid, PATIENCE)

    def doubt_creation(self, job: str, sort: Sort, name: str) -> None:
        """The creation had no answer: it may have happened."""
        self._expect(job, (sort, name), UNANSWERED_PATIENCE)

    def doubt_deletion(self, job: str, uid: str) -> None:
        """The deletion had no answer: it may have happened."""
        self._expect(job, uid, UNANSWERED_PATIENCE)

    def withdraw_creation(self, job: str, sort: Sort, name: str) -> None:
        """The object was surely not created."""
        self._met(job, (sort, name))

    def withdraw_deletion(self, job: str, uid: str) -> None:
        """The object was surely not deleted."""
        self._met(job, uid)

    def observe(self, old: Record | None, new: Record | None) -> None:
        """Under one name the cache held `old` and holds `new` now."""
        if old is not None and (new is None or new.uid != old.uid):
            self._gone(old)
        if new is not None:
            self._seen(new)

    def wait(self, job: str) -> float:
        """Seconds for which the job must not be decided on; 0 if all has been seen or has taken too long."""
        if not (pending := self._pending.get(job)):
            return 0.0
        if (left := max(pending.values()) - self._clock()) > 0:
            return left
        del self._pending[job]
        return 0.0

    def forget(self, job: str) -> None:
        """The job is gone."""
        self._pending.pop(job, None)

    def _expect(self, job: str, sight: _Sight, patience: float) -> None:
        self._pending.setdefault(job, {})[sight] = self._clock() + patience

    def _met(self, job: str, sight: _Sight) -> None:
        if (pending := self._pending.get(job)) is not None:
            pending.pop(sight, None)
            if not pending:
                del self._pending[job]

    def _seen(self, record: Record) -> None:
        if record.owner is not None and isinstance(record, PodRecord | ServiceRecord):
            self._met(record.owner.uid, (type(record), record.name))
            if record.deleting:
                self._met(record.owner.uid, record.uid)

    def _gone(self, record: Record) -> None:
        if record.owner is not None:
            self._met(record.owner.uid, record.uid)
