"""The deadlines of a job, `activeDeadlineSeconds` and `ttlSecondsAfterFinished`: when each is due (K-02, K-62)."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from training_api.kinds import Job
from training_api.models.common import JobStatus


def active_deadline(job: Job, status: JobStatus) -> datetime | None:
    """When `activeDeadlineSeconds` is over; it counts from `startTime`, and again after each resume."""
    return _later(status.start_time, job.spec.run_policy.active_deadline_seconds)


def expiry(job: Job, status: JobStatus) -> datetime | None:
    """When `ttlSecondsAfterFinished` is over and the finished job is deleted, suspended or not (K-16)."""
    return _later(status.completion_time, job.spec.run_policy.ttl_seconds_after_finished)


def is_past(moment: datetime | None, now: datetime) -> bool:
    """Whether there is such a moment and it has come."""
    return moment is not None and now >= moment


def seconds_until(now: datetime, moments: Iterable[datetime | None]) -> float | None:
    """Seconds until the nearest of the moments there are, 0 for one that has passed, None if there is none."""
    waits = [max(0.0, (moment - now).total_seconds()) for moment in moments if moment is not None]
    return min(waits, default=None)


def _later(start: datetime | None, seconds: int | None) -> datetime | None:
    if start is None or seconds is None:
        return None
    try:
        return start + timedelta(seconds=max(seconds, 0))
    except OverflowError:  # any int64 is a valid deadline; one beyond the year 9999 never comes
        return None
