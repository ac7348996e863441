"""The objects beside pods and services: those of an active job are there and as they should be."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import msgspec

from training_api.conditions import is_finished
from training_api.kinds import Job
from training_controllers.model.json_patch import contains, patch_of_fields
from training_controllers.model.owned_objects import OWNED_KINDS, OwnedObject
from training_controllers.model.plan import EventType, JobEvent, OwnedChange, OwnedVerb, Snapshot
from training_controllers.model.records import OwnedRecord

Present = Mapping[tuple[str, str], OwnedRecord]
"""The job's objects by kind and name."""


def owned_changes(snapshot: Snapshot, wanted: Sequence[OwnedObject]) -> tuple[OwnedChange, ...]:
    """What to do so that the job has the objects `wanted`, and no other temporary ones.

    Objects of these names that the job does not control are never touched (K-34): creating ours then fails visibly.
    """
    present = {(record.kind, record.name): record for record in snapshot.owned_objects}
    possible = [owned for owned in wanted if owned.kind.name not in snapshot.absent_kinds]
    return (*_created_or_changed(present, possible), *_deleted(snapshot.job, present, wanted))


def _created_or_changed(present: Present, wanted: Sequence[OwnedObject]) -> Iterator[OwnedChange]:
    for owned in wanted:
        record = present.get((owned.kind.name, owned.name))
        if record is None:
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
