"""The scale subresource of custom resources: a Scale object in place of the fields that the CRD names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from training_local.apiserver import verbs
from training_local.apiserver.errors import ApiError, Json, bad_request, internal, invalid, invalid_object, json_kind
from training_local.apiserver.options import WriteOptions
from training_local.apiserver.request_info import RequestInfo
from training_local.apiserver.resource_types import ResourceType, ScalePaths
from training_local.apiserver.state import State, served
from training_local.apiserver.verbs import Written


def read(state: State, target: RequestInfo) -> Json:
    """Return the Scale of an object."""
    entry = state.require(target.type, target.namespace, target.name)
    obj = served(target.type, entry)
    if _get(obj, path := _paths(target.type).replicas) is None:
        raise internal(f'the spec replicas field "{path}" does not exist')
    return _scale(obj, target.type)


def replace(state: State, target: RequestInfo, wanted: Json, options: WriteOptions) -> Written:
    """Set what a Scale says."""
    return _write(state, target, lambda _: wanted, options)


def patch(state: State, target: RequestInfo, change: Callable[[Json], Json], options: WriteOptions) -> Written:
    """Change the Scale of an object by a function from its old state to its new one."""

    def changed(scale: Json) -> Json:
        wanted = change(scale)
        with verbs.blaming_patch(wanted):
            _replicas(wanted)
        return wanted

    return _write(state, target, changed, options)


def reject_apply(state: State, target: RequestInfo) -> NoReturn:
    """Answer an apply patch as the real server does, which cannot convert what comes of it."""
    state.require(target.type, target.namespace, target.name)
    named = f"/{target.name}; autoscaling/v1, Kind=Scale"
    said = "to proper version: request to convert CR to an invalid group/version: autoscaling/v1"
    raise ApiError(500, "", f"failed to convert new object ({named}) {said}")


def _write(state: State, target: RequestInfo, change: Callable[[Json], Json], options: WriteOptions) -> Written:
    def rescaled(obj: Json) -> Json:
        wanted = change(_scale(obj, target.type))
        replicas, meta = _replicas(wanted), wanted.get("metadata") or {}
        if replicas < 0:
            causes = [invalid(".spec.replicas", replicas, "should be a non-negative integer")]
            raise invalid_object(target.type.group, target.type.kind, target.name, causes)
        _put(obj, _paths(target.type).replicas, replicas)
        for name in ("resourceVersion", "uid"):
            if meta.get(name):
                obj["metadata"][name] = meta[name]
        return obj

    written = verbs.patch(state, target, rescaled, options)
    return Written(_scale(written.obj, target.type), warnings=written.warnings)


def _replicas(scale: Json) -> int:
    replicas = (scale.get("spec") or {}).get("replicas", 0)
    if isinstance(replicas, int) and not isinstance(replicas, bool):
        return replicas
    said = f"json: cannot unmarshal {json_kind(replicas)} into Go struct field ScaleSpec.spec.replicas of type int32"
    raise bad_request(f'Scale in version "v1" cannot be handled as a Scale: {said}')


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
