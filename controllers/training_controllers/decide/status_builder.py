"""Builds the new status of a job, with the events and counters of the same plan."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from training_api.conditions import set_condition, would_change
from training_api.kinds import Job
from training_api.models.common import (
    ConditionStatus,
    ConditionType,
    JobCondition,
    JobStatus,
    ReplicaStatus,
    Waiting,
    whole_seconds,
)
from training_controllers.model.plan import Counter, EventType, JobEvent, Plan, Snapshot, WaitingReason

URGENCY: Final[Mapping[str, int]] = {reason: rank for rank, reason in enumerate(WaitingReason)}


class StatusBuilder:
    """The new status of a job as a decision puts it together, and its events and counters."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.job: Job = snapshot.job
        self.now = whole_seconds(snapshot.now)
        self.status: JobStatus = snapshot.job.status
        self.events: list[JobEvent] = []
        self.counters: list[Counter] = []

    def update(self, **fields: Any) -> None:
        """Set fields of the status."""
        self.status = self.status.model_copy(update=fields)

    def set_replicas(self, statuses: Mapping[str, ReplicaStatus]) -> None:
        """Set the counters of all replica types."""
        self.update(replica_statuses=dict(statuses))

    def set_condition(
        self, kind: ConditionType, message: str, *, status: ConditionStatus = ConditionStatus.TRUE, reason: str = ""
    ) -> bool:
        """Set a condition; `reason` is the word behind the kind, by default its type. Returns whether it changed."""
        reason = f"{self.job.info.kind}{reason or kind}"
        changes = would_change(self.status, kind, status, reason)
        if changes:  # nearly always nothing does
            condition = JobCondition(type=kind, status=status, reason=reason, message=message)
            self.status = set_condition(self.status, condition, self.now)
        return changes

    def set_waiting(self, reason: str, message: str) -> None:
        """Set `status.waiting`, unless it has a more urgent reason.

        The same reason keeps the time when it was seen first.
        """
        current, before = self.status.waiting, self.job.status.waiting
        if current is not None and URGENCY[current.reason] <= URGENCY[reason]:
            return
        since = before.since if before is not None and before.reason == reason else self.now
        self.update(waiting=Waiting(reason=reason, message=message, since=since))

    def emit(self, kind: EventType, word: str, message: str) -> None:
        """Emit an event for a transition; its reason is the job's kind and `word`."""
        self.events.append(JobEvent(kind, f"{self.job.info.kind}{word}", message))

    def add_events(self, events: Iterable[JobEvent]) -> None:
        """Add events that are not transitions of the job."""
        self.events.extend(events)

    def count(self, counter: Counter) -> None:
        """Count a transition."""
        self.counters.append(counter)

    def succeed(self, message: str) -> None:
        """End the job with success."""
        self.update(completion_time=self.now)
        self.set_condition(ConditionType.SUCCEEDED, message)
        self.emit(EventType.NORMAL, "Succeeded", message)
        self.count(Counter.SUCCESSFUL)

    def fail(self, message: str, details: str = "", word: str = "") -> None:
        """End the job with failure: completion time, counter and Warning on every path (K-05, K-56, K-60).

        The event has v1's message; the condition continues with `details`, and its reason ends in `word` if given.
        """
        self.update(completion_time=self.now)
        self.set_condition(ConditionType.FAILED, _sentences(message, details), reason=word)
        self.emit(EventType.WARNING, "Failed", message)
        self.count(Counter.FAILED)

    def plan(self, **effects: Any) -> Plan:
        """The plan that stores this status, emits its events and then has `effects`."""
        return Plan(
            status=None if self.status == self.job.status else self.status,
            events=tuple(self.events),
            counters=tuple(self.counters),
            **effects,
        )


def _sentences(first: str, second: str) -> str:
    if not second:
        return first
    return f"{first} {second}" if first.endswith(".") else f"{first}. {second}"
