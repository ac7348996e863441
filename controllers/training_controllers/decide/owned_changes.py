"""The objects beside pods and services: those of an active job are there and as they should be."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import msgspec

from training_api.conditions import is_finished
from training_api.kinds import Job
from training_controllers.model.names import owner_reference
from training_controllers.model.owned_objects import OWNED_KINDS, OwnedObject, RandomBytes
from training_controllers.model.plan import EventType, JobEvent, OwnedChange, OwnedVerb, Snapshot
from training_controllers.model.records import OwnedRecord
from training_controllers.reconcile.status_writer import merge_patch

Present = Mapping[tuple[str, str], OwnedRecord]
"""The job's objects by kind and name."""


def owned_changes(snapshot: Snapshot, wanted: Sequence[OwnedObject]) -> tuple[OwnedChange, ...]:
    """What to do so that the job has the objects `wanted`, and no other temporary ones.

    Objects of these names that the job does not control are never touched (K-34): creating ours then fails visibly.
    """
    present = {(record.kind, record.name): record for record in snapshot.owned_objects}
    possible = [owned for owned in wanted if owned.kind.name not in snapshot.absent_kinds]
    return (*_created_or_changed(present, possible), *_deleted(snapshot.job, present, wanted))


def build_owned_object(job: Job, owned: OwnedObject, random_bytes: RandomBytes) -> dict[str, Any]:
    """The object, ready to be sent; what is generated is different each time."""
    metadata: dict[str, Any] = {
        "name": owned.name,
        "namespace": job.metadata.namespace,
        "ownerReferences": [owner_reference(job)],
    }
    if owned.kind.label:
        metadata["labels"] = {owned.kind.label: job.metadata.name}
    if owned.annotations:
        metadata["annotations"] = dict(owned.annotations)
    kind, fields = owned.kind, owned.fields
    if kind.merged:
        fields = {**fields, kind.content: {key: has for key, has in owned.content.items() if has is not None}}
    generated = owned.generate(random_bytes) if owned.generate is not None else {}
    return {"apiVersion": kind.api_version, "kind": kind.name, "metadata": metadata, **fields, **generated}


def _created_or_changed(present: Present, wanted: Sequence[OwnedObject]) -> Iterator[OwnedChange]:
    for owned in wanted:
        record = present.get((owned.kind.name, owned.name))
        if record is None:
            yield OwnedChange(OwnedVerb.CREATE, owned.kind.name, owned.name, owned)
        elif record.deleting:
            continue
        elif owned.kind.merged:
            if patch := _difference(msgspec.json.decode(record.content) or {}, owned.content):
                change = OwnedChange(OwnedVerb.PATCH, owned.kind.name, owned.name, owned, record)
                yield replace(change, patch={owned.kind.content: patch})
        elif not _says(msgspec.json.decode(record.content), owned.content):
            yield OwnedChange(OwnedVerb.REPLACE, owned.kind.name, owned.name, owned, record)


def _difference(stored: Mapping[str, Any], wanted: Mapping[str, Any]) -> dict[str, Any]:
    """The merge patch that sets the fields of `wanted` and removes those that are None; others are not ours."""
    patch: dict[str, Any] = {}
    for key, value in wanted.items():
        has = stored.get(key)
        if isinstance(value, Mapping) and isinstance(has, Mapping):
            if nested := merge_patch(has, value):
                patch[key] = nested
        elif has != value and not (value is None and has == ""):
            patch[key] = value
    return patch


def _deleted(job: Job, present: Present, wanted: Sequence[OwnedObject]) -> Iterator[OwnedChange]:
    kept = {(owned.kind.name, owned.name) for owned in wanted}
    for (kind, name), record in present.items():
        if (kind, name) not in kept and OWNED_KINDS[kind].temporary and not record.deleting:
            events = tuple(_farewell(job, kind, name)) if OWNED_KINDS[kind].announced else ()
            yield OwnedChange(OwnedVerb.DELETE, kind, name, record=record, events=events)


def _farewell(job: Job, kind: str, name: str) -> Iterator[JobEvent]:
    """The event that v1 emits for a deletion, once it was done (K-48)."""
    if is_finished(job.status) or job.spec.run_policy.suspend:
        yield JobEvent(EventType.NORMAL, "JobTerminated", f"Job has been terminated. Deleting {kind}")
    yield JobEvent(EventType.NORMAL, f"SuccessfulDelete{kind}", f"Deleted {kind}: {name}")


def _says(stored: Any, wanted: Any) -> bool:
    """Whether `stored` has everything that `wanted` asks for; what the API server filled in does not matter."""
    if isinstance(wanted, Mapping):
        return isinstance(stored, Mapping) and all(_says(stored.get(key), value) for key, value in wanted.items())
    if isinstance(wanted, list | tuple) and wanted:
        return (
            isinstance(stored, list)
            and len(stored) == len(wanted)
            and all(_says(has, wants) for has, wants in zip(stored, wanted, strict=True))
        )
    return bool(stored == wanted) or wanted in ([], (), None)
