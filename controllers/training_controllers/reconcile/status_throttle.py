"""The throttle of status writes: a rate limit per job, so that a status that changes all the time causes few writes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from training_api.conditions import is_finished
from training_api.models.common import JobStatus

SECONDS: Final = 1.0
"""Between two writes of a job's status, in the long run."""
BURST: Final = 5
"""Writes that may follow each other at once after a time without any: the usual life of a job is never held up."""
WORDING_SECONDS: Final = 60.0
"""Between two writes that only say in other words what the job waits for, as schedulers do again and again."""


@dataclass(slots=True)
class StatusThrottle:
    """When the status of one job may be written again."""

    _paid: float = 0.0
    """When all writes so far are a second old each, one after the other."""
    _reworded: float = -WORDING_SECONDS

    def wait(self, before: JobStatus, after: JobStatus, now: float) -> float:
        """Seconds for which `after` must not replace `before` yet; the end of a job never waits."""
        if is_finished(after):
            return 0.0
        words = self._reworded + WORDING_SECONDS - now if is_rewording(before, after) else 0.0
        return max(self._paid - (BURST - 1) * SECONDS - now, words, 0.0)

    def wrote(self, before: JobStatus, after: JobStatus, now: float) -> None:
        """Note that `after` has replaced `before`."""
        if is_rewording(before, after):
            self._reworded = now
        self._paid = max(self._paid, now) + SECONDS


def is_rewording(before: JobStatus, after: JobStatus) -> bool:
    """Whether all that is new are the words for the same reason to wait."""
    old, new = before.waiting, after.waiting
    if old is None or new is None or old.reason != new.reason:
        return False
    return after.model_copy(update={"waiting": old}) == before
