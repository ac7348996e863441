"""What all policies want to know about a snapshot, worked out once per decision."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from training_api.kinds import Job
from training_api.models.common import ReplicaStatus
from training_controllers.engine.model import Snapshot
from training_controllers.engine.replica_status import count_replicas
from training_controllers.engine.slots import Placement, place
from training_controllers.frameworks.base import Framework


@dataclass(frozen=True, slots=True)
class Situation:
    """A snapshot with its pods in their slots and its replicas counted."""

    snapshot: Snapshot
    framework: Framework
    placement: Placement
    statuses: Mapping[str, ReplicaStatus]

    @property
    def job(self) -> Job:
        """The job in question."""
        return self.snapshot.job

    @property
    def idle_types(self) -> frozenset[str]:
        """The types that do not count any more: those that only serve others, once all others have ended."""
        helpers, job = self.framework.helpers, self.job
        others = (
            status.succeeded + status.failed >= (job.replicas[name].replicas or 0)
            for name, status in self.statuses.items()
            if name not in helpers
        )
        return helpers if helpers and all(others) else frozenset()

    @property
    def last_statuses(self) -> dict[str, ReplicaStatus]:
        """What is left to say of the replicas once the job has ended."""
        idle = self.idle_types
        return {name: at_rest(status) if name in idle else status for name, status in self.statuses.items()}


def at_rest(status: ReplicaStatus) -> ReplicaStatus:
    """What remains of the counters of a type when its pods count no more."""
    return ReplicaStatus(selector=status.selector, restarts=status.restarts)


def assess(snapshot: Snapshot, framework: Framework) -> Situation:
    """Put the pods into their slots and count them."""
    placement = place(snapshot.job, snapshot.pods)
    return Situation(snapshot, framework, placement, count_replicas(snapshot, placement))
