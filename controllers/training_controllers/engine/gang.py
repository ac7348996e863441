"""Policy: a gang starts when its scheduler lets it (K-45, K-49, K-50, K-62, K-63).

Only the start waits. A gang that has started gets lost pods replaced, is counted and comes to its end whatever its
PodGroup says, because a scheduler that takes a PodGroup back counts pods that have to be there for that.
"""

from __future__ import annotations

import msgspec

from training_api.conditions import holds
from training_api.models.common import ConditionType
from training_controllers.companions import Companion, CompanionSort
from training_controllers.engine.companions import companion_changes
from training_controllers.engine.draft import Draft
from training_controllers.engine.failures import is_active
from training_controllers.engine.model import Cause, Plan
from training_controllers.engine.replica_status import completed_indexes
from training_controllers.engine.situation import Situation
from training_controllers.engine.slots import wanted_slots
from training_controllers.gang.pod_group import pod_group
from training_controllers.gang.schedulers import GangScheduler, gang_of
from training_controllers.records import CompanionRecord


def wait_for_gang(situation: Situation, draft: Draft) -> Plan | None:
    """Hold the job back until its gang may start; a job that has started goes on."""
    scheduler = gang_of(situation.job, situation.framework.gang)
    wanted = pod_groups(situation)
    if scheduler is None or not wanted:
        return None
    record = _present(situation, wanted[0].sort)
    admitted = record is not None and not record.deleting and scheduler.admits(record.phase)
    started = has_started(situation)
    if not admitted and not (started and _all_run(situation)):
        draft.wait(*_cause(situation, scheduler, wanted[0], record))
    if started or admitted:
        # Only with the start the active time begins, anew if the job was resumed (K-62).
        draft.update(start_time=draft.status.start_time if started else draft.now, last_reconcile_time=None)
        return None
    draft.update(last_reconcile_time=situation.job.status.last_reconcile_time or draft.now)
    return draft.plan(companions=companion_changes(situation.snapshot, wanted))


def pod_groups(situation: Situation) -> tuple[Companion, ...]:
    """The PodGroup that the active job should have, if any."""
    job, framework, snapshot = situation.job, situation.framework, situation.snapshot
    scheduler = gang_of(job, framework.gang)
    if scheduler is None or scheduler.sort is None:
        return ()
    present = _present(situation, scheduler.sort)
    stored = msgspec.json.decode(present.content) if present is not None else None
    pods = {replica_type: _pods_to_be(situation, replica_type) for replica_type in job.replicas}
    wanted = pod_group(job, framework, scheduler, pods, priorities=snapshot.priorities, stored=stored)
    return () if wanted is None else (wanted,)


def has_started(situation: Situation) -> bool:
    """Whether the gang has been let in since the job was created or resumed last, or some of its pods live.

    `lastReconcileTime` is there while it waits, also under v1's CRDs. What v1 has left of it is older than the start.
    """
    if any(is_active(pod) for pod in situation.snapshot.pods):
        return True
    status = situation.job.status
    started, waited = status.start_time, status.last_reconcile_time
    if started is None or holds(status, ConditionType.SUSPENDED):
        return False
    return waited is None or waited < started


def _pods_to_be(situation: Situation, replica_type: str) -> int:
    """Pods of a type that are there or will be: all but those of completed replicas that have gone (K-13)."""
    job, holders = situation.job, situation.placement.holders
    done = completed_indexes(job, situation.statuses[replica_type], replica_type)
    return sum(slot in holders or slot.index not in done for slot in wanted_slots(job, replica_type))


def _present(situation: Situation, sort: CompanionSort) -> CompanionRecord | None:
    name = situation.job.metadata.name
    owned = situation.snapshot.companions
    return next((record for record in owned if (record.kind, record.name) == (sort.kind, name)), None)


def _all_run(situation: Situation) -> bool:
    """Whether no pod waits for its place."""
    return all(pod.phase != "Pending" for pod in situation.placement.holders.values())


def _cause(situation: Situation, scheduler: GangScheduler, wanted: Companion, record: CompanionRecord | None) -> Cause:
    """What the job waits for."""
    subject = f"PodGroup {wanted.name}"
    if wanted.sort.kind in situation.snapshot.missing:
        return "ApiMissing", f"{subject} cannot be created: the API server does not have {wanted.sort.api_version}"
    if record is None or record.deleting:
        return situation.snapshot.lacking.get(wanted.sort.kind, ("GangPending", f"{subject} does not exist yet"))
    phase = f"is {record.phase}" if record.phase else "has no phase yet"
    members = wanted.content["minMember"]
    return "GangPending", f"{subject} {phase}: {scheduler.name} has not let in the gang of {members} pod(s)"
