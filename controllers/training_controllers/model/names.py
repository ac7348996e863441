"""Names and labels of the objects that belong to a job, and how they refer to it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from training_api.constants import (
    API_VERSION,
    JOB_NAME_LABEL,
    OPERATOR_NAME_LABEL,
    REPLICA_INDEX_LABEL,
    REPLICA_TYPE_LABEL,
)
from training_api.kinds import Job
from training_controllers.model.plan import Slot


def replica_name(job: Job, slot: Slot) -> str:
    """Name of the pod and of the service of a replica, which is also its host name in the cluster."""
    numbered = slot.replica_type not in job.info.unnumbered_types
    name = f"{job.metadata.name}-{slot.replica_type.lower()}"
    return (f"{name}-{slot.index}" if numbered else name).replace("/", "-")


@dataclass(frozen=True, slots=True)
class ReplicaNames:
    """The names of all replicas of a type, of which there may be many."""

    prefix: str
    """What precedes the index."""
    count: int

    def __iter__(self) -> Iterator[str]:
        return (f"{self.prefix}{index}" for index in range(self.count))

    @property
    def size(self) -> int:
        """How many bytes the names have together, computed without building them."""
        digits: int = self.count + sum(max(self.count - 10**more, 0) for more in range(1, len(str(self.count))))
        return len(self.prefix.encode()) * self.count + digits


def replica_names(job: Job, replica_type: str) -> ReplicaNames:
    """The names of all desired replicas of a numbered type."""
    return ReplicaNames(replica_name(job, Slot(replica_type, 0))[:-1], job.count(replica_type))


def job_labels(job: Job) -> dict[str, str]:
    """Labels that all pods and services of the job have."""
    return {
        OPERATOR_NAME_LABEL: job.info.controller_name,
        JOB_NAME_LABEL: job.metadata.name.replace("/", "-"),
    }


def replica_labels(job: Job, slot: Slot) -> dict[str, str]:
    """Labels of the pod and of the service of a replica; they are also what the service selects."""
    labels = {**job_labels(job), REPLICA_TYPE_LABEL: slot.replica_type.lower()}
    if slot.replica_type not in job.info.unnumbered_types:
        labels[REPLICA_INDEX_LABEL] = str(slot.index)
    return labels


def type_selector(job: Job, replica_type: str) -> str:
    """Label selector of the pods of one type as the scale subresource shows it: sorted by key, without blanks."""
    labels = {**job_labels(job), REPLICA_TYPE_LABEL: replica_type.lower()}
    return ",".join(f"{key}={labels[key]}" for key in sorted(labels))


def owner_reference(job: Job) -> dict[str, Any]:
    """The reference by which the job controls an object."""
    return {
        "apiVersion": API_VERSION,
        "kind": job.info.kind,
        "name": job.metadata.name,
        "uid": job.metadata.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }
