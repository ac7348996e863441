"""The scale subresource of custom resources: a Scale object in place of the fields that the definition names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from training_local.apiserver.errors import Json, bad_request, invalid, invalid_object
from training_local.apiserver.options import WriteOptions
from training_local.apiserver.resource_types import ResourceType, ScalePaths
from training_local.apiserver.state import State, served
from training_local.apiserver.verbs import Target, Written, patch


def read(state: State, target: Target) -> Json:
    """Return the Scale of an object."""
    entry = state.require(target.type, target.namespace, target.name)
    return _scale(served(target.type, entry), target.type)


def write(state: State, target: Target, change: Callable[[Json], Json], options: WriteOptions) -> Written:
    """Change the Scale of an object by a function from its old state to its new one."""

    def rescaled(obj: Json) -> Json:
        wanted = change(_scale(obj, target.type))
        spec, meta = wanted.get("spec") or {}, wanted.get("metadata") or {}
        replicas = spec.get("replicas", 0)
        if not isinstance(replicas, int) or isinstance(replicas, bool):
            raise bad_request(
                'Scale in version "v1" cannot be handled as a Scale: spec.replicas must be a whole number'
            )
        if replicas < 0:
            causes = [invalid("spec.replicas", replicas, "should be a non-negative integer")]
            raise invalid_object(target.type.group, target.type.kind, target.name, causes)
        _put(obj, _paths(target.type).replicas, replicas)
        for name in ("resourceVersion", "uid"):
            if meta.get(name):
                obj["metadata"][name] = meta[name]
            elif name == "resourceVersion":
                # Without a version the latest one is meant.
                continue
        return obj

    written = patch(state, target, rescaled, options)
    return Written(_scale(written.obj, target.type), warnings=written.warnings)


def _paths(type: ResourceType) -> ScalePaths:
    assert type.scale is not None
    return type.scale


def _scale(obj: Json, type: ResourceType) -> Json:
    paths, meta = _paths(type), obj["metadata"]
    status: Json = {"replicas": _get(obj, paths.status_replicas) or 0}
    if paths.selector and (selector := _get(obj, paths.selector)):
        status["selector"] = selector
    kept = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    replicas = _get(obj, paths.replicas)
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {name: meta[name] for name in kept if name in meta},
        "spec": {"replicas": replicas} if replicas else {},
        "status": status,
    }


def _get(obj: Json, path: str) -> Any:
    value: Any = obj
    for name in path.strip(".").split("."):
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _put(obj: Json, path: str, value: Any) -> None:
    *parents, last = path.strip(".").split(".")
    for name in parents:
        obj = obj.setdefault(name, {})
    obj[last] = value
