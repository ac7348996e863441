"""The objects next to pods and services: those of an active job are there and as they should be."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import msgspec

from training_api.conditions import is_finished
from training_api.kinds import Job
from training_controllers.decide.job_state import JobState
from training_controllers.model.json_patch import contains, patch_of_fields
from training_controllers.model.owned_objects import OWNED_KINDS, OwnedObject
from training_controllers.model.plan import Cause, EventType, JobEvent, OwnedChange, OwnedVerb, Snapshot, WaitingReason
from training_controllers.model.records import OwnedRecord, PodRecord

Present = Mapping[tuple[str, str], OwnedRecord]
"""The job's objects by kind and name."""


def owned_changes(snapshot: Snapshot, wanted: Sequence[OwnedObject]) -> tuple[OwnedChange, ...]:
    """What to do so that the job has the objects `wanted`, and no other temporary ones.

    Objects of these names that the job does not control are never touched (K-34): creating ours then fails visibly.
    """
    present = {(record.kind, record.name): record for record in snapshot.owned_objects}
    possible = [owned for owned in wanted if owned.kind.name not in snapshot.absent_kinds]
    return (*_created_or_changed(present, possible), *_deleted(snapshot.job, present, wanted))


def granting_objects(state: JobState, deleted: Iterable[PodRecord]) -> tuple[OwnedObject, ...]:
    """What grants something on pods, for a job that has ended or is suspended: on those that are not to be deleted."""
    if not any(OWNED_KINDS[record.kind].grants for record in state.snapshot.owned_objects):
        return ()
    uids = {pod.uid for pod in deleted}
    kept = {slot: pod for slot, pod in state.assignment.pods_by_slot.items() if pod.uid not in uids}
    own = state.framework.owned_objects(state.job, kept)
    return tuple(replace(each, existing_only=True) for each in own if each.kind.grants)


def unavailable(snapshot: Snapshot, wanted: Sequence[OwnedObject]) -> Iterator[Cause]:
    """What pods need and nothing can be done about now: objects on their way out, kinds that the server lacks."""
    leaving = {(record.kind, record.name) for record in snapshot.owned_objects if record.deleting}
    for owned in wanted:
        subject = f"{owned.kind.name} {owned.name}"
        if not owned.kind.needed or owned.existing_only:
            continue
        if owned.kind.name in snapshot.absent_kinds:
            text = f"{subject} cannot be created: the API server does not have {owned.kind.api_version}"
            yield WaitingReason.API_MISSING, text
        if (owned.kind.name, owned.name) in leaving:
            text = f"{subject} was deleted but still exists: a finalizer may block its deletion"
            yield WaitingReason.TERMINATING, text


def _created_or_changed(present: Present, wanted: Sequence[OwnedObject]) -> Iterator[OwnedChange]:
    for owned in wanted:
        record = present.get((owned.kind.name, owned.name))
        if record is None:
            needed = present.get((owned.kind.needs, owned.name))
            if not owned.existing_only and (needed is None or not needed.deleting):
                yield OwnedChange(OwnedVerb.CREATE, owned.kind.name, owned.name, owned)
        elif record.deleting:
            continue
        elif owned.kind.merged:
            if patch := patch_of_fields(msgspec.json.decode(record.content) or {}, owned.content):
                change = OwnedChange(OwnedVerb.PATCH, owned.kind.name, owned.name, owned, record)
                yield replace(change, patch={owned.kind.content: patch})
        elif not contains(msgspec.json.decode(record.content), owned.content):
            yield OwnedChange(OwnedVerb.REPLACE, owned.kind.name, owned.name, owned, record)


def _deleted(job: Job, present: Present, wanted: Sequence[OwnedObject]) -> Iterator[OwnedChange]:
    kept = {(owned.kind.name, owned.name) for owned in wanted}
    for (kind, name), record in present.items():
        if (kind, name) not in kept and OWNED_KINDS[kind].temporary and not record.deleting:
            events = tuple(_deletion_events(job, kind, name)) if OWNED_KINDS[kind].emits_deletion_events else ()
            yield OwnedChange(OwnedVerb.DELETE, kind, name, record=record, events=events)


def _deletion_events(job: Job, kind: str, name: str) -> Iterator[JobEvent]:
    """The event that v1 emits for a deletion, once it was done (K-48)."""
    if is_finished(job.status) or job.spec.run_policy.suspend:
        yield JobEvent(EventType.NORMAL, "JobTerminated", f"Job has been terminated. Deleting {kind}")
    yield JobEvent(EventType.NORMAL, f"SuccessfulDelete{kind}", f"Deleted {kind}: {name}")
