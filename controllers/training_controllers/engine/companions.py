"""The objects beside pods and services: those of an active job are there and as they should be."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import msgspec

from training_api.conditions import is_finished
from training_api.kinds import Job
from training_controllers.companions import SORTS, Companion, RandomBytes
from training_controllers.engine.model import CompanionChange, CompanionVerb, EventType, JobEvent, Snapshot
from training_controllers.engine.status_writer import merge_patch
from training_controllers.names import owner_reference
from training_controllers.records import CompanionRecord

Present = Mapping[tuple[str, str], CompanionRecord]
"""The job's objects by kind and name."""


def companion_changes(snapshot: Snapshot, wanted: Sequence[Companion]) -> tuple[CompanionChange, ...]:
    """What to do so that the job has the objects `wanted`, and no other temporary ones.

    Objects of these names that the job does not control are never touched (K-34): creating ours then fails visibly.
    """
    present = {(record.kind, record.name): record for record in snapshot.companions}
    possible = [companion for companion in wanted if companion.sort.kind not in snapshot.missing]
    return (*_created_or_changed(present, possible), *_deleted(snapshot.job, present, wanted))


def build_companion(job: Job, companion: Companion, random_bytes: RandomBytes) -> dict[str, Any]:
    """The object, ready to be sent; what is generated is different each time."""
    metadata: dict[str, Any] = {
        "name": companion.name,
        "namespace": job.metadata.namespace,
        "ownerReferences": [owner_reference(job)],
    }
    if companion.labels:
        metadata["labels"] = dict(companion.labels)
    if companion.annotations:
        metadata["annotations"] = dict(companion.annotations)
    sort, fields = companion.sort, companion.fields
    if sort.merged:
        fields = {**fields, sort.content: {key: has for key, has in companion.content.items() if has is not None}}
    generated = companion.generate(random_bytes) if companion.generate is not None else {}
    return {"apiVersion": sort.api_version, "kind": sort.kind, "metadata": metadata, **fields, **generated}


def _created_or_changed(present: Present, wanted: Sequence[Companion]) -> Iterator[CompanionChange]:
    for companion in wanted:
        record = present.get((companion.sort.kind, companion.name))
        if record is None:
            yield CompanionChange(CompanionVerb.CREATE, companion.sort.kind, companion.name, companion)
        elif record.deleting:
            continue
        elif companion.sort.merged:
            if patch := _difference(msgspec.json.decode(record.content) or {}, companion.content):
                change = CompanionChange(CompanionVerb.PATCH, companion.sort.kind, companion.name, companion, record)
                yield replace(change, patch={companion.sort.content: patch})
        elif not _says(msgspec.json.decode(record.content), companion.content):
            yield CompanionChange(CompanionVerb.REPLACE, companion.sort.kind, companion.name, companion, record)


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


def _deleted(job: Job, present: Present, wanted: Sequence[Companion]) -> Iterator[CompanionChange]:
    kept = {(companion.sort.kind, companion.name) for companion in wanted}
    for (kind, name), record in present.items():
        if (kind, name) not in kept and SORTS[kind].temporary and not record.deleting:
            events = tuple(_farewell(job, kind, name)) if SORTS[kind].announced else ()
            yield CompanionChange(CompanionVerb.DELETE, kind, name, record=record, events=events)


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
