"""The conditions of a job: how they are set and read.

The order is part of the API: conditions that do not hold come first, those that hold follow, the newest one last, so
that the last element is the current condition (K-59).
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from training_api.models.common import ConditionStatus, ConditionType, JobCondition, JobStatus, whole_seconds

TERMINAL = (ConditionType.SUCCEEDED, ConditionType.FAILED)
EXCLUDES: Mapping[str, str] = {
    ConditionType.RUNNING: ConditionType.RESTARTING,
    ConditionType.RESTARTING: ConditionType.RUNNING,
}
"""Setting the first removes the second."""


def set_condition(status: JobStatus, condition: JobCondition, now: datetime) -> JobStatus:
    """The status with this condition as its newest one; the times of `condition` itself are ignored.

    Returns `status` itself where nothing changes: the job has finished, or it has this condition with the same status
    and reason (a new message alone is no news).
    """
    if not would_change(status, condition.type, condition.status, condition.reason):
        return status
    old, now = find(status, condition.type), whole_seconds(now)
    since = old.last_transition_time if old and old.status == condition.status else now
    new = condition.model_copy(update={"last_update_time": now, "last_transition_time": since})
    removed = (condition.type, EXCLUDES.get(condition.type))
    kept = [other for other in status.conditions if other.type not in removed]
    if condition.type in TERMINAL:
        kept = [_ended(other) for other in kept]
    in_order = sorted([*kept, new], key=lambda c: c.status == ConditionStatus.TRUE)
    return status.model_copy(update={"conditions": tuple(in_order)})


def would_change(status: JobStatus, kind: str, value: ConditionStatus, reason: str) -> bool:
    """Whether setting a condition of this type to this status and reason changes the job's status."""
    if is_finished(status):
        return False
    old = find(status, kind)
    return old is None or (old.status, old.reason) != (value, reason)


def _ended(condition: JobCondition) -> JobCondition:
    """A finished job neither runs nor restarts; reason, message and times stay, as v1 leaves them for Running."""
    if condition.type in EXCLUDES:
        return condition.model_copy(update={"status": ConditionStatus.FALSE})
    return condition


def find(status: JobStatus, condition_type: str) -> JobCondition | None:
    """The condition of this type, whatever its status."""
    return next((c for c in status.conditions if c.type == condition_type), None)


def holds(status: JobStatus, condition_type: str) -> bool:
    """Whether there is a condition of this type with status True."""
    return any(c.type == condition_type and c.status == ConditionStatus.TRUE for c in status.conditions)


def is_finished(status: JobStatus) -> bool:
    """Whether the job has succeeded or failed; nothing changes its conditions any more."""
    return any(c.type in TERMINAL and c.status == ConditionStatus.TRUE for c in status.conditions)
