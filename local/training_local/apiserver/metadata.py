"""`metadata` of all objects: what clients may set, what the server fills in, and what is rejected (API conventions)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from training_local.apiserver import names
from training_local.apiserver.errors import (
    Cause,
    Json,
    bad_request,
    forbidden_value,
    invalid,
    json_kind,
    quoted,
    required,
)
from training_local.apiserver.resource_types import ResourceType
from training_local.apiserver.state import State

ANNOTATION_LIMIT = 256 * 1024
STANDARD_FINALIZERS = ("foregroundDeletion", "orphan", "kubernetes")
_IMMUTABLE = ("name", "namespace", "uid", "deletionTimestamp", "deletionGracePeriodSeconds")
_KEPT_WHEN_EMPTY = ("deletionGracePeriodSeconds", "managedFields")
"""No seconds of grace are something, and no managed fields are to be forgotten."""
_OWNER_FIELDS = {
    "apiVersion": str,
    "kind": str,
    "name": str,
    "uid": str,
    "controller": bool,
    "blockOwnerDeletion": bool,
}
_ENTRY_FIELDS = ("manager", "operation", "apiVersion", "time", "fieldsType", "subresource")
_GO_NAMES = {str: "string", bool: "bool", int: "int64", dict: "map[string]string", list: "[]"}
_FIELDS: dict[str, type] = {
    "name": str,
    "generateName": str,
    "namespace": str,
    "uid": str,
    "resourceVersion": str,
    "generation": int,
    "creationTimestamp": str,
    "deletionTimestamp": str,
    "deletionGracePeriodSeconds": int,
    "labels": dict,
    "annotations": dict,
    "ownerReferences": list,
    "finalizers": list,
    "managedFields": list,
    "selfLink": str,
}


def decoded(obj: Json, type: ResourceType) -> list[str]:
    """Bring `metadata` into its shape in place; returns what was dropped, raises a 400 for values of the wrong type."""
    meta = obj.get("metadata")
    if meta is None:
        meta = obj["metadata"] = {}
    fits = _Fits(type)
    fits.check("metadata", meta, dict)
    problems = [f'unknown field "metadata.{name}"' for name in meta if name not in _FIELDS]
    kept = {name: value for name, value in meta.items() if name in _FIELDS and value is not None}
    for name, value in kept.items():
        fits.check(f"metadata.{name}", value, _FIELDS[name])
    for name in ("labels", "annotations"):
        for value in kept.get(name, {}).values():
            fits.check(f"metadata.{name}", value, str)
    for finalizer in kept.get("finalizers", ()):
        fits.check("metadata.finalizers", finalizer, str)
    for owner in kept.get("ownerReferences", ()):
        fits.check("metadata.ownerReferences", owner, dict)
        for name, value in owner.items():
            if name in _OWNER_FIELDS and value is not None:
                fits.check(f"metadata.ownerReferences.{name}", value, _OWNER_FIELDS[name])
    for entry in kept.get("managedFields", ()):
        fits.check("metadata.managedFields", entry, dict)
        for name in _ENTRY_FIELDS:
            if entry.get(name) is not None:
                fits.check(f"metadata.managedFields.{name}", entry[name], str)
    # As Go leaves out what is empty.
    obj["metadata"] = {
        name: value for name, value in kept.items() if (value or name in _KEPT_WHEN_EMPTY) and name != "selfLink"
    }
    return problems


class _Fits:
    """Rejects values that the API's Go types could not hold."""

    def __init__(self, type: ResourceType) -> None:
        self._type = type

    def check(self, path: str, value: Any, expected: type) -> None:
        if isinstance(value, expected) and not (expected is int and isinstance(value, bool)):
            return
        kind, version = self._type.kind, self._type.version
        field = f"ObjectMeta.{path.removeprefix('metadata.') if self._type.custom else path}"
        if path == "metadata" and not self._type.custom:
            field = f"{kind}.metadata"
        raise bad_request(
            f'{kind} in version "{version}" cannot be handled as a {kind}: json: cannot unmarshal {json_kind(value)} '
            f"into Go struct field {field} of type {'v1.ObjectMeta' if path == 'metadata' else _GO_NAMES[expected]}"
        )


def for_create(obj: Json, type: ResourceType, namespace: str, state: State) -> None:
    """Fill in what the server owns in a new object's metadata, in place."""
    meta: Json = obj["metadata"]
    for name in ("deletionTimestamp", "deletionGracePeriodSeconds", "resourceVersion"):
        meta.pop(name, None)
    if not meta.get("name") and meta.get("generateName"):
        meta["name"] = state.generated_name(meta["generateName"])
    if type.namespaced:
        meta["namespace"] = namespace
    meta["uid"] = state.new_uid()
    meta["creationTimestamp"] = state.timestamp()
    if type.generation:
        meta["generation"] = 1


def for_update(old: Json, new: Json, subresource: str, type: ResourceType) -> None:
    """Fill in what an update may leave out, and take back what it may not change, in place."""
    was, meta = old["metadata"], new["metadata"]
    for name in ("creationTimestamp", "deletionTimestamp"):
        if name in was:
            meta[name] = was[name]
    for name in ("uid", "deletionGracePeriodSeconds"):
        if not meta.get(name) and name in was:
            meta[name] = was[name]
    meta.pop("generation", None)
    if "generation" in was:
        meta["generation"] = was["generation"]


def count_generation(old: Json, new: Json, type: ResourceType) -> None:
    """Raise the generation if something changed outside metadata (and outside status, if that is a subresource)."""
    if not type.generation:
        return
    ignored = {"metadata", "status"} if "status" in type.subresources else {"metadata"}
    fields = (old.keys() | new.keys()) - ignored
    if any(old.get(name) != new.get(name) for name in fields):
        new["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1


def create_causes(obj: Json, type: ResourceType) -> list[Cause]:
    """Return what is wrong with a new object's metadata."""
    meta, check = obj["metadata"], names.STYLES[type.names]
    causes: list[Cause] = []
    if generate := meta.get("generateName"):
        # The suffix comes after it, so a prefix may end in a hyphen.
        causes += _each(
            "metadata.generateName", generate, lambda text: check(text[:-1] + "a" if text[-1] == "-" else text)
        )
    if not meta.get("name"):
        causes.append(required("metadata.name", "name or generateName is required"))
    else:
        causes += _each("metadata.name", meta["name"], check)
    return causes + _common_causes(meta, type)


def warnings(obj: Json, type: ResourceType) -> list[str]:
    """Return what is unwise in the metadata of a custom resource; builtin types reject it."""
    if not type.custom:
        return []
    advice = "prefer a domain-qualified finalizer name to avoid accidental conflicts with other finalizer writers"
    plain = (name for name in obj["metadata"].get("finalizers", ()) if "/" not in name)
    return [f"metadata.finalizers: {quoted(name)}: {advice}" for name in plain if name not in STANDARD_FINALIZERS]


def update_causes(old: Json, new: Json, type: ResourceType) -> list[Cause]:
    """Return what is wrong with the metadata of an update."""
    was, meta = old["metadata"], new["metadata"]
    causes = _common_causes(meta, type)
    causes += [
        invalid(f"metadata.{name}", meta.get(name), "field is immutable")
        for name in _IMMUTABLE
        if meta.get(name) != was.get(name)
    ]
    added = [name for name in meta.get("finalizers", ()) if name not in was.get("finalizers", ())]
    if was.get("deletionTimestamp") and added:
        shown = "[]string{" + ", ".join(quoted(name) for name in added) + "}"
        said = f"no new finalizers can be added if the object is being deleted, found new finalizers {shown}"
        causes.append(forbidden_value("metadata.finalizers", said))
    return causes


def _common_causes(meta: Json, type: ResourceType) -> list[Cause]:
    causes: list[Cause] = []
    for key, value in meta.get("labels", {}).items():
        causes += _each("metadata.labels", key, names.qualified_name)
        causes += _each("metadata.labels", value, names.label_value)
    annotations = meta.get("annotations", {})
    for key in annotations:
        causes += [invalid("metadata.annotations", key, said) for said in names.qualified_name(key.lower())]
    if sum(len(key) + len(value) for key, value in annotations.items()) > ANNOTATION_LIMIT:
        causes.append(
            Cause(
                "FieldValueTooLong", f"Too long: may not be more than {ANNOTATION_LIMIT} bytes", "metadata.annotations"
            )
        )
    causes += _owner_causes(meta.get("ownerReferences", ()))
    for number, name in enumerate(meta.get("finalizers", ())):
        causes += _each("metadata.finalizers", name, names.qualified_name)
        # A rule of the builtin kinds; custom resources have a server, and a finalizer, of their own.
        builtin = not type.custom and type.group != "apiextensions.k8s.io"
        if builtin and "/" not in name and name not in STANDARD_FINALIZERS:
            said = "name is neither a standard finalizer name nor is it fully qualified"
            causes.append(invalid(f"metadata.finalizers[{number}]", name, said))
    return causes


def _owner_causes(owners: Sequence[Json]) -> list[Cause]:
    path, causes = "metadata.ownerReferences", list[Cause]()
    for owner in owners:
        version = owner.get("apiVersion", "")
        if not version or version.count("/") > 1:
            causes.append(invalid(f"{path}.apiVersion", version, "version must not be empty"))
        causes += [
            invalid(f"{path}.{name}", "", "must not be empty")
            for name in ("kind", "name", "uid")
            if not owner.get(name)
        ]
    controllers = [f"{owner.get('kind')}/{owner.get('name')}" for owner in owners if owner.get("controller")]
    if len(controllers) > 1:
        shown = [{name: owner[name] for name in _OWNER_FIELDS if name in owner} for owner in owners]
        said = (
            "Only one reference can have Controller set to true. "
            f'Found "true" in references for {controllers[0]} and {controllers[1]}'
        )
        causes.append(invalid(path, shown, said))
    return causes


def _each(path: str, text: str, check: Callable[[str], list[str]]) -> list[Cause]:
    return [invalid(path, text, problem) for problem in check(text)]
