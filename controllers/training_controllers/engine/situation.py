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
    def statuses_after_success(self) -> dict[str, ReplicaStatus]:
        """What is left to say of the replicas once the job has succeeded: helpers do not count any more."""
        helpers = self.framework.helpers
        return {name: at_rest(status) if name in helpers else status for name, status in self.statuses.items()}


def at_rest(status: ReplicaStatus) -> ReplicaStatus:
    """What remains of the counters of a type when its pods count no more."""
    return ReplicaStatus(selector=status.selector, restarts=status.restarts)


def assess(snapshot: Snapshot, framework: Framework) -> Situation:
    """Put the pods into their slots and count them."""
    placement = place(snapshot.job, snapshot.pods)
    return Situation(snapshot, framework, placement, count_replicas(snapshot, placement))
