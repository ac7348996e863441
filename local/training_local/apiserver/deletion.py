"""Deleting objects: preconditions, grace, finalizers and propagation (Kubernetes API concepts)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from training_api.models.common import rfc3339
from training_local.apiserver.errors import Json, conflict
from training_local.apiserver.options import DeleteOptions
from training_local.apiserver.resource_types import ResourceType
from training_local.apiserver.state import State, served, stored
from training_local.apiserver.storage import Entry

FOREGROUND = "foregroundDeletion"
ORPHAN = "orphan"
CLEAN_UP = "customresourcecleanup.apiextensions.k8s.io"
CRDS = ("apiextensions.k8s.io", "customresourcedefinitions")
_PODS = ("", "pods")
_NAMESPACES = ("", "namespaces")
_DEFAULT_GRACE = 30


@dataclass(frozen=True, slots=True)
class Deleted:
    """The outcome of a deletion: the object's last state, and whether it is gone."""

    obj: Json
    gone: bool


def delete(state: State, type: ResourceType, entry: Entry, options: DeleteOptions) -> Deleted:
    """Delete an object, or mark it for deletion where grace or finalizers hold it; raises a 409 on preconditions."""
    _check_preconditions(type, entry, options)
    obj = served(type, entry)
    if type.store == _NAMESPACES and obj.get("spec", {}).get("finalizers"):
        return _terminate_namespace(state, type, entry, obj, options)
    if type.store == CRDS:
        _terminate_crd(state, obj)
    meta: Json = obj["metadata"]
    # Only pods have grace; of all other types even a deletion under way may change the finalizers.
    grace = _grace(obj, options) if type.store == _PODS else None
    if grace is not None and entry.deleting and not _brings_forward(meta, options):
        if is_released(type, obj) and not options.dry_run:  # marked, and then the disk was full
            obj = served(type, state.storage.remove(type.store, entry))
            return Deleted(obj, gone=True)
        return Deleted(obj, gone=False)
    finalizers = _finalizers(meta.get("finalizers", []), options.propagation)
    if grace is not None:
        _mark(state, meta, grace)
    elif finalizers:
        _mark(state, meta, 0)
    _set_finalizers(meta, finalizers)
    if finalizers or grace is not None:
        entry, obj = _store(state, type, entry, obj, options)
    if finalizers or grace:
        return Deleted(obj, gone=False)
    if not options.dry_run:
        obj = served(type, state.storage.remove(type.store, entry))
    return Deleted(obj, gone=True)


def is_released(type: ResourceType, obj: Json) -> bool:
    """Return whether an object marked for deletion has nothing left to wait for, neither finalizers nor grace."""
    meta = obj["metadata"]
    waiting = meta.get("finalizers") or (type.store == _NAMESPACES and obj.get("spec", {}).get("finalizers"))
    return bool(meta.get("deletionTimestamp")) and not waiting and meta.get("deletionGracePeriodSeconds", 0) == 0


def put_or_remove(state: State, type: ResourceType, entry: Entry, obj: Json) -> None:
    """Store the new state `obj` of `entry`; if that was all it waited for, remove it instead."""
    if is_released(type, obj):
        state.storage.remove(type.store, entry)
    else:
        state.storage.put(type.store, stored(type, obj))


def finish_deletions(state: State) -> None:
    """Remove what was marked for deletion and waits for nothing: the server ended between the two steps."""
    for key, collection in tuple(state.storage.collections.items()):
        type = state.catalog.of_store(key)
        for entry in collection.entries():
            if type is not None and entry.deleting and is_released(type, entry.object()):
                state.storage.remove(key, entry)


def _check_preconditions(type: ResourceType, entry: Entry, options: DeleteOptions) -> None:
    if options.uid is not None and options.uid != entry.uid:
        said = (
            f"the UID in the precondition ({options.uid}) does not match the UID in record ({entry.uid}). "
            "The object might have been deleted and then recreated"
        )
    elif options.version is not None and options.version != str(entry.version):
        said = (
            f"the ResourceVersion in the precondition ({options.version}) does not match the ResourceVersion "
            f"in record ({entry.version}). The object might have been modified"
        )
    else:
        return
    raise conflict(type.group, type.kind, entry.name, said)


def _finalizers(present: list[str], propagation: str | None) -> list[str]:
    """Return the finalizers after a deletion with `propagation`; None keeps what was asked for before."""
    if propagation is None:
        return present
    others = [name for name in present if name not in (FOREGROUND, ORPHAN)]
    added = {"Foreground": [FOREGROUND], "Orphan": [ORPHAN]}.get(propagation, [])
    return others + added if set(others + added) != set(present) else present


def _grace(pod: Json, options: DeleteOptions) -> int:
    """Return the seconds that a pod still has: none without a node, or when it is finished."""
    spec, phase = pod.get("spec", {}), pod.get("status", {}).get("phase")
    if not spec.get("nodeName") or phase in ("Succeeded", "Failed"):
        return 0
    asked: int = (
        options.grace if options.grace is not None else spec.get("terminationGracePeriodSeconds", _DEFAULT_GRACE)
    )
    return asked if asked >= 0 else 1


def _brings_forward(meta: Json, options: DeleteOptions) -> bool:
    """Return whether a further deletion shortens the grace of the first; nothing else is heard."""
    return options.grace is not None and max(options.grace, 0) < meta.get("deletionGracePeriodSeconds", 0)


def _mark(state: State, meta: Json, grace: int) -> None:
    if "deletionTimestamp" not in meta:
        meta["deletionTimestamp"] = state.timestamp(seconds_ahead=grace)
        if meta.get("generation"):
            meta["generation"] += 1
    elif grace < (before := meta.get("deletionGracePeriodSeconds", 0)):
        moved = datetime.fromisoformat(meta["deletionTimestamp"]) - timedelta(seconds=before - grace)
        meta["deletionTimestamp"] = rfc3339(moved)
    meta["deletionGracePeriodSeconds"] = grace


def _set_finalizers(meta: Json, finalizers: list[str]) -> None:
    if finalizers:
        meta["finalizers"] = finalizers
    else:
        meta.pop("finalizers", None)


def _terminate_namespace(state: State, type: ResourceType, entry: Entry, obj: Json, options: DeleteOptions) -> Deleted:
    meta = obj["metadata"]
    if entry.deleting:
        return Deleted(obj, gone=False)
    meta["deletionTimestamp"] = state.timestamp()
    obj.setdefault("status", {})["phase"] = "Terminating"
    return Deleted(_store(state, type, entry, obj, options)[1], gone=False)


def _terminate_crd(state: State, obj: Json) -> None:
    """Let a CRD wait for the end of its objects."""
    finalizers = obj["metadata"].setdefault("finalizers", [])
    if obj["metadata"].get("deletionTimestamp"):
        return
    if CLEAN_UP not in finalizers:
        finalizers.append(CLEAN_UP)
    terminating = {
        "type": "Terminating",
        "status": "True",
        "lastTransitionTime": state.timestamp(),
        "reason": "InstanceDeletionPending",
        "message": "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
    }
    obj.setdefault("status", {}).setdefault("conditions", []).append(terminating)


def _store(state: State, type: ResourceType, entry: Entry, obj: Json, options: DeleteOptions) -> tuple[Entry, Json]:
    """Store a change, if it is one and not a dry run; returns the entry and the object as they are then."""
    if options.dry_run or obj == served(type, entry):
        return entry, obj
    entry = state.storage.put(type.store, stored(type, obj))
    return entry, served(type, entry)
