"""The state of a job that all policies share, observed once per decision."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from training_api.kinds import Job
from training_api.models.common import ReplicaStatus
from training_controllers.frameworks.base import Framework
from training_controllers.model.plan import Snapshot
from training_controllers.observe.replica_status import count_replicas
from training_controllers.observe.slots import SlotAssignment, assign_slots


@dataclass(frozen=True, slots=True)
class JobState:
    """A snapshot with its pods in their slots and its replicas counted."""

    snapshot: Snapshot
    framework: Framework
    assignment: SlotAssignment
    statuses: Mapping[str, ReplicaStatus]

    @property
    def job(self) -> Job:
        """The job in question."""
        return self.snapshot.job

    @property
    def statuses_after_success(self) -> dict[str, ReplicaStatus]:
        """The replica statuses once the job has succeeded: auxiliary types do not count any more."""
        auxiliary_types = self.framework.auxiliary_types
        return {
            name: at_rest(status) if name in auxiliary_types else as_succeeded(status)
            for name, status in self.statuses.items()
        }


def at_rest(status: ReplicaStatus) -> ReplicaStatus:
    """What remains of the counters of a type when its pods count no more."""
    return ReplicaStatus(selector=status.selector, restarts=status.restarts)


def as_succeeded(status: ReplicaStatus) -> ReplicaStatus:
    """The counters of a type of a job that has succeeded: what was active counts as succeeded, as in v1 (E-081)."""
    return status.model_copy(update={"succeeded": status.succeeded + status.active, "active": 0, "ready": 0})


def observe(snapshot: Snapshot, framework: Framework) -> JobState:
    """Put the pods into their slots and count them."""
    assignment = assign_slots(snapshot.job, snapshot.pods)
    return JobState(snapshot, framework, assignment, count_replicas(snapshot, assignment))
