"""`Framework`: everything in which one job kind differs from the others, as declarations and small pure functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from training_api.kinds import Job, KindInfo
from training_api.models.common import ConditionType, ReplicaStatus
from training_controllers.engine.model import Slot
from training_controllers.pod_spec import PodSpec

ReplicaStatuses = Mapping[str, ReplicaStatus]
"""The counted replicas by type, in processing order."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """One thing that the counted replicas say about their job: the condition that it now has, and why."""

    condition: ConditionType
    message: str
    replica_type: str = ""
    """The type whose replicas failed, if that is the reason."""


def no_autoscaler(_job: Job) -> Mapping[str, Any] | None:
    """A kind that never has an autoscaler."""
    return None


@dataclass(frozen=True, slots=True)
class Framework:
    """What the engine has to know about one job kind."""

    info: KindInfo
    judge: Callable[[Job, ReplicaStatuses], Sequence[Verdict]]
    """What the counters mean for the job. Verdicts apply in their order; one that ends the job is the last."""
    configure_pod: Callable[[Job, Slot, PodSpec], PodSpec]
    """The pod spec of a replica with the framework's environment added; raises `CannotBuild`."""
    is_master: Callable[[Job, Slot], bool]
    """Whether the pod in this slot gets the label `job-role: master`."""
    autoscaler_spec: Callable[[Job], Mapping[str, Any] | None] = no_autoscaler
    """The autoscaler that the job should have, or None."""
    job_deleted_reason: str = "SuccessfulDeleteJob"
    """Reason of the event `Deleted job: NAME` when a job is deleted because its time to live is over (17.2)."""
    job_delete_failed_reason: str = "FailedDeleteJob"
    """Reason of the event `Error deleting: ERROR` when that fails."""
