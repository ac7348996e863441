"""Deleting objects: preconditions, grace, finalizers and propagation (Kubernetes documentation, "Garbage collection")."""

from __future__ import annotations

from dataclasses import dataclass

from training_local.apiserver.errors import Json, conflict
from training_local.apiserver.options import DeleteOptions
from training_local.apiserver.resource_types import ResourceType
from training_local.apiserver.state import State, served, stored
from training_local.apiserver.storage import Entry

FOREGROUND = "foregroundDeletion"
ORPHAN = "orphan"
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
    meta: Json = obj["metadata"]
    before = meta.get("finalizers", [])
    finalizers = _finalizers(before, options.propagation)
    grace = _grace(type, obj, options)
    if type.store == _NAMESPACES and obj.get("spec", {}).get("finalizers"):
        return _terminate_namespace(state, type, obj, options)
    if not finalizers and grace == 0:
        return _remove(state, type, obj, options)
    if not _mark(state, meta, grace) and finalizers == before:
        return Deleted(obj, gone=False)
    _set_finalizers(meta, finalizers)
    return Deleted(_store(state, type, obj, options), gone=False)


def finish_if_released(state: State, type: ResourceType, obj: Json) -> bool:
    """Remove an object whose last finalizer an update has just taken away; returns whether it is gone."""
    meta = obj["metadata"]
    waiting = meta.get("finalizers") or (type.store == _NAMESPACES and obj.get("spec", {}).get("finalizers"))
    if not meta.get("deletionTimestamp") or waiting or meta.get("deletionGracePeriodSeconds", 0) > 0:
        return False
    _remove(state, type, obj, DeleteOptions())
    return True


def _check_preconditions(type: ResourceType, entry: Entry, options: DeleteOptions) -> None:
    if options.uid is not None and options.uid != entry.uid:
        said = f"UID in precondition: {options.uid}, UID in object meta: {entry.uid}"
    elif options.version is not None and options.version != str(entry.version):
        said = f"ResourceVersion in precondition: {options.version}, ResourceVersion in object meta: {entry.version}"
    else:
        return
    raise conflict(type.group, type.plural, entry.name, f"Precondition failed: {said}")


def _finalizers(present: list[str], propagation: str | None) -> list[str]:
    """Return the finalizers that an object has after a deletion with `propagation`; None keeps what is asked for already."""
    if propagation is None:
        return present
    others = [name for name in present if name not in (FOREGROUND, ORPHAN)]
    added = {"Foreground": [FOREGROUND], "Orphan": [ORPHAN]}.get(propagation, [])
    return others + added if set(others + added) != set(present) else present


def _grace(type: ResourceType, obj: Json, options: DeleteOptions) -> int:
    """Return the seconds that a pod on a node still has; everything else goes at once."""
    if type.store != _PODS:
        return 0
    spec, phase = obj.get("spec", {}), obj.get("status", {}).get("phase")
    if not spec.get("nodeName") or phase in ("Succeeded", "Failed"):
        return 0
    asked = options.grace if options.grace is not None else spec.get("terminationGracePeriodSeconds", _DEFAULT_GRACE)
    return asked if asked >= 0 else 1


def _mark(state: State, meta: Json, grace: int) -> bool:
    """Set the deletion timestamp, or bring it forward; returns whether anything changed."""
    if meta.get("deletionTimestamp") and grace >= meta.get("deletionGracePeriodSeconds", 0):
        return False
    meta["deletionTimestamp"] = state.timestamp(seconds_ahead=grace)
    meta["deletionGracePeriodSeconds"] = grace
    if meta.get("generation"):
        meta["generation"] += 1
    return True


def _set_finalizers(meta: Json, finalizers: list[str]) -> None:
    if finalizers:
        meta["finalizers"] = finalizers
    else:
        meta.pop("finalizers", None)


def _terminate_namespace(state: State, type: ResourceType, obj: Json, options: DeleteOptions) -> Deleted:
    meta = obj["metadata"]
    if meta.get("deletionTimestamp"):
        raise conflict(
            type.group,
            type.plural,
            meta["name"],
            "The system is ensuring all content is removed from this namespace.  "
            "Upon completion, this namespace will automatically be purged by the system.",
        )
    meta["deletionTimestamp"] = state.timestamp()
    obj.setdefault("status", {})["phase"] = "Terminating"
    return Deleted(_store(state, type, obj, options), gone=False)


def _store(state: State, type: ResourceType, obj: Json, options: DeleteOptions) -> Json:
    if options.dry_run:
        return obj
    return served(type, state.storage.put(type.store, stored(type, obj)))


def _remove(state: State, type: ResourceType, obj: Json, options: DeleteOptions) -> Deleted:
    if options.dry_run:
        return Deleted(obj, gone=True)
    meta = obj["metadata"]
    if type.store == _PODS:
        # The real server marks a pod that it removes at once, too: watches see it with a grace of zero.
        meta.setdefault("deletionTimestamp", state.timestamp())
        meta["deletionGracePeriodSeconds"] = 0
    return Deleted(served(type, state.storage.remove(type.store, stored(type, obj))), gone=True)
