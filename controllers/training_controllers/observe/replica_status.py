"""Counting the replicas of a type (K-07, K-09, K-13, K-14)."""

from __future__ import annotations

from training_api.kinds import Job
from training_api.models.common import ReplicaStatus, RestartPolicy
from training_controllers.model.index_ranges import NONE, IndexRanges, parse_ranges
from training_controllers.model.names import type_selector
from training_controllers.model.plan import Snapshot
from training_controllers.model.records import PodRecord
from training_controllers.observe import restarts
from training_controllers.observe.pod_failures import has_failed_itself, is_running
from training_controllers.observe.slots import SlotAssignment


def count_replicas(snapshot: Snapshot, assignment: SlotAssignment) -> dict[str, ReplicaStatus]:
    """The replicas of each type of the job, in processing order (K-10); removed types vanish (K-42)."""
    return {name: _count_type(snapshot, assignment, name) for name in snapshot.job.replicas}


def completed_indexes(job: Job, status: ReplicaStatus | None, replica_type: str) -> IndexRanges:
    """Indexes whose work is done and never run again; with restart policy `Always` there are none (K-13)."""
    if status is None or job.replicas[replica_type].restart_policy == RestartPolicy.ALWAYS:
        return NONE
    return parse_ranges(status.completed_indexes)


def _count_type(snapshot: Snapshot, assignment: SlotAssignment, replica_type: str) -> ReplicaStatus:
    job = snapshot.job
    pods = {slot.index: pod for slot, pod in assignment.pods_by_slot.items() if slot.replica_type == replica_type}
    succeeded = IndexRanges.of(index for index, pod in pods.items() if _has_succeeded(pod))
    completed = completed_indexes(job, job.status.replica_statuses.get(replica_type), replica_type)
    if job.replicas[replica_type].restart_policy != RestartPolicy.ALWAYS:
        completed |= succeeded
    running = [pod for index, pod in pods.items() if is_running(pod) and index not in completed]
    troubled = ((slot, pod) for slot, pod in assignment.notable.items() if slot.replica_type == replica_type)
    return ReplicaStatus(
        active=len(running),
        ready=sum(pod.ready for pod in running),
        succeeded=len((succeeded | completed).up_to(job.count(replica_type))),
        failed=sum(has_failed_itself(job, slot, pod) for slot, pod in troubled if slot.index not in completed),
        selector=type_selector(job, replica_type) if job.info.scalable else None,
        restarts=restarts.total(snapshot, assignment, replica_type),
        completed_indexes=str(completed),
        restarting_indexes=str(restarts.due_indexes(snapshot, assignment, replica_type)),
    )


def _has_succeeded(pod: PodRecord) -> bool:
    """Whether the pod did its work. One that ends with 0 while it is being deleted was asked to stop (K-09)."""
    return pod.phase == "Succeeded" and not pod.deleting
