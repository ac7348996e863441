"""The throttle of status writes: a rate limit per job, so that a status that changes all the time causes few writes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from training_api.conditions import is_finished
from training_api.models.common import JobStatus, ReplicaStatus

BURST: Final = 5
"""Writes of a job's status that may follow each other at once after a time without any: its usual life is never held
up. In the long run there is one a second."""
WORDING_SECONDS: Final = 60.0
"""Between two writes that only say in other words what the job waits for, as schedulers do repeatedly."""
REPLICAS_PER_SECOND: Final = 100
"""Between two writes that only count replicas again lies a second for so many of them, and none for fewer."""
LONGEST_COUNT: Final = 10.0
COUNTS: Final = ("active", "ready", "succeeded", "completed_indexes")
"""Counters on which nothing depends but what is shown; that a replica has failed or restarts is no such thing."""


@dataclass(slots=True)
class StatusThrottle:
    """When the status of one job may be written again."""

    _paid: float = 0.0
    """When all writes so far are a second old each, one after the other."""
    _reworded: float = -WORDING_SECONDS
    _counted: float = -LONGEST_COUNT

    def wait(self, before: JobStatus, after: JobStatus, now: float, replicas: int) -> float:
        """Seconds for which `after` must not replace `before`, another status, yet; the end of a job never waits.

        The job has so many `replicas`.
        """
        if is_finished(after):
            return 0.0
        words = self._reworded + WORDING_SECONDS - now if is_rewording(before, after) else 0.0
        counts = self._counted + _counting_seconds(replicas) - now if is_recount(before, after) else 0.0
        return max(self._paid - (BURST - 1) - now, words, counts)  # no status is both, so one of them is 0

    def wrote(self, before: JobStatus, after: JobStatus, now: float) -> None:
        """Note that `after` has replaced `before`."""
        if is_rewording(before, after):
            self._reworded = now
        if is_recount(before, after):
            self._counted = now
        self._paid = max(self._paid, now) + 1


def is_rewording(before: JobStatus, after: JobStatus) -> bool:
    """Whether all that is new are the words for the same reason to wait."""
    old, new = before.waiting, after.waiting
    if old is None or new is None or old.reason != new.reason:
        return False
    return after.model_copy(update={"waiting": old}) == before


def is_recount(before: JobStatus, after: JobStatus) -> bool:
    """Whether all that is new are the numbers of replicas that run and have succeeded."""
    old, new = before.replica_statuses, after.replica_statuses
    if old.keys() != new.keys() or after.model_copy(update={"replica_statuses": old}) != before:
        return False
    return all(_uncounted(old[name]) == _uncounted(new[name]) for name in new)


def _uncounted(status: ReplicaStatus) -> ReplicaStatus:
    blank = ReplicaStatus()
    return status.model_copy(update={name: getattr(blank, name) for name in COUNTS})


def _counting_seconds(replicas: int) -> float:
    return min(float(replicas // REPLICAS_PER_SECOND), LONGEST_COUNT)
