"""Policy: a gang starts when its scheduler lets it (K-45, K-49, K-50, K-62, K-63).

Only the start waits. A gang that has started gets lost pods replaced, is counted and comes to its end whatever its
PodGroup has, because a scheduler that takes a PodGroup back counts pods that have to be there for that.
"""

from __future__ import annotations

import msgspec

from training_api.conditions import holds
from training_api.models.common import ConditionType
from training_controllers.decide.job_state import JobState
from training_controllers.decide.owned_changes import owned_changes
from training_controllers.decide.pod_group import pod_group
from training_controllers.decide.status_builder import StatusBuilder
from training_controllers.gang.schedulers import GangScheduler, gang_of
from training_controllers.model.index_ranges import IndexRanges
from training_controllers.model.owned_objects import OwnedKind, OwnedObject
from training_controllers.model.plan import Cause, Plan
from training_controllers.model.records import OwnedRecord
from training_controllers.observe.pod_failures import is_active
from training_controllers.observe.replica_status import completed_indexes
from training_controllers.observe.slots import filled_indexes


def wait_for_gang(state: JobState, builder: StatusBuilder) -> Plan | None:
    """Hold the job back until its gang may start; a job that has started continues."""
    scheduler = gang_of(state.job, state.framework.gang)
    wanted = pod_groups(state)
    if scheduler is None or not wanted:
        return None
    record = _present(state, wanted[0].kind)
    admitted = record is not None and not record.deleting and scheduler.admits(record.phase)
    started = has_started(state)
    if not admitted and not (started and _all_run(state)):
        builder.set_waiting(*_cause(state, scheduler, wanted[0], record))
    if started or admitted:
        # Only with the start the active time begins, again after a resume (K-62).
        builder.update(start_time=builder.status.start_time if started else builder.now, last_reconcile_time=None)
        return None
    builder.update(last_reconcile_time=state.job.status.last_reconcile_time or builder.now)
    return builder.plan(owned_changes=owned_changes(state.snapshot, wanted))


def pod_groups(state: JobState) -> tuple[OwnedObject, ...]:
    """The PodGroup that the active job should have, if any."""
    job, framework, snapshot = state.job, state.framework, state.snapshot
    scheduler = gang_of(job, framework.gang)
    if scheduler is None or scheduler.pod_group is None:
        return ()
    present = _present(state, scheduler.pod_group)
    stored = msgspec.json.decode(present.content) if present is not None else None
    pods = {replica_type: _pods_to_be(state, replica_type) for replica_type in job.replicas}
    wanted = pod_group(job, framework, scheduler, pods, priorities=snapshot.priorities, stored=stored)
    return () if wanted is None else (wanted,)


def has_started(state: JobState) -> bool:
    """Whether the gang has been let in since the job was created or resumed last, or some of its pods live.

    `lastReconcileTime` is there while it waits, also under v1's CRDs. What v1 has left of it is older than the start.
    """
    if any(is_active(pod) for pod in state.snapshot.pods):
        return True
    status = state.job.status
    started, waited = status.start_time, status.last_reconcile_time
    if started is None or holds(status, ConditionType.SUSPENDED):
        return False
    return waited is None or waited < started


def _pods_to_be(state: JobState, replica_type: str) -> int:
    """Pods of a type that are there or will be: all but those of completed replicas that have gone (K-13)."""
    job = state.job
    gone = completed_indexes(job, state.statuses[replica_type], replica_type) - filled_indexes(
        state.assignment, replica_type
    )
    return len(IndexRanges.below(job.count(replica_type)) - gone)


def _present(state: JobState, kind: OwnedKind) -> OwnedRecord | None:
    name = state.job.metadata.name
    owned = state.snapshot.owned_objects
    return next((record for record in owned if (record.kind, record.name) == (kind.name, name)), None)


def _all_run(state: JobState) -> bool:
    """Whether no pod waits for its place."""
    return all(pod.phase != "Pending" for pod in state.assignment.pods_by_slot.values())


def _cause(state: JobState, scheduler: GangScheduler, wanted: OwnedObject, record: OwnedRecord | None) -> Cause:
    """What the job waits for."""
    subject = f"PodGroup {wanted.name}"
    if wanted.kind.name in state.snapshot.absent_kinds:
        return (
            "ApiMissing",
            f"{subject} cannot be created: the API server does not have {wanted.kind.api_version}",
        )
    if record is None or record.deleting:
        return state.snapshot.owned_errors.get(wanted.kind.name, ("GangPending", f"{subject} does not exist yet"))
    phase = f"is {record.phase}" if record.phase else "has no phase yet"
    members = wanted.content["minMember"]
    return "GangPending", f"{subject} {phase}: {scheduler.name} has not admitted the gang of {members} pod(s)"
