"""The subresources that only pods have: log, eviction, binding."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

from training_local.apiserver.deletion import delete
from training_local.apiserver.errors import Json, bad_request, conflict, invalid_object, required
from training_local.apiserver.options import DeleteOptions, Query, WriteOptions, flag, whole_number
from training_local.apiserver.request_info import RequestInfo
from training_local.apiserver.resource_types import ResourceType
from training_local.apiserver.state import State


@dataclass(frozen=True, slots=True)
class LogOptions:
    """Which part of a container's log to read (PodLogOptions)."""

    container: str
    follow: bool = False
    previous: bool = False
    timestamps: bool = False
    tail_lines: int | None = None
    since_seconds: int | None = None
    since_time: str = ""
    limit_bytes: int | None = None


Lines = AsyncIterator[list[bytes]]
"""Batches of lines, each with its newline."""


class LogStream:
    """A log on its way to a client."""

    content_type = "text/plain"

    def __init__(self, lines: Lines) -> None:
        self._lines = lines

    async def batches(self) -> Lines:
        """Yield the log."""
        async for batch in self._lines:
            yield batch

    def close(self) -> None:
        """Nothing to stop: the source ends with its iterator."""


def log(
    state: State, target: RequestInfo, query: Query, lines: Callable[[Json, LogOptions], Lines] | None
) -> LogStream | None:
    """Return a container's log, which must be named if there are several; None while the pod has no node to ask."""
    pod = state.require(target.type, target.namespace, target.name).object()
    options = _log_options(query, target.name, pod)
    return LogStream(lines(pod, options)) if lines and pod["spec"].get("nodeName") else None


def chosen_container(query: Query, name: str, pod: Json) -> str:
    """Return the container that a request means, which must be named if there are several."""
    spec = pod["spec"]
    containers = [container["name"] for container in spec.get("containers", ())]
    init = [container["name"] for container in spec.get("initContainers", ())]
    container = query.get("container", "")
    if not container and len(containers) + len(init) > 1:
        said = f"a container name must be specified for pod {name}, choose one of: [{' '.join(containers)}]"
        raise bad_request(said + (f" or one of the init containers: [{' '.join(init)}]" if init else ""))
    if container and container not in containers + init:
        raise bad_request(f"container {container} is not valid for pod {name}")
    return container or str(containers[0])


def _log_options(query: Query, name: str, pod: Json) -> LogOptions:
    return LogOptions(
        container=chosen_container(query, name, pod),
        follow=flag(query, "follow"),
        previous=flag(query, "previous"),
        timestamps=flag(query, "timestamps"),
        tail_lines=whole_number(query, "tailLines"),
        since_seconds=whole_number(query, "sinceSeconds"),
        since_time=query.get("sinceTime", ""),
        limit_bytes=whole_number(query, "limitBytes"),
    )


def evict(state: State, target: RequestInfo, eviction: Json) -> Json:
    """Delete a pod as an Eviction asks for; there are no disruption budgets here."""
    entry = state.require(target.type, target.namespace, target.name)
    options = DeleteOptions.of({}, eviction.get("deleteOptions") or {})
    if not options.dry_run and not entry.deleting:
        pod = entry.object()
        _set_condition(state, pod, "DisruptionTarget", reason="EvictionByEvictionAPI", message="Eviction API: evicting")
        entry = state.storage.put(target.type.store, pod)
    delete(state, target.type, entry, options)
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}


def _set_condition(state: State, pod: Json, kind: str, **why: str) -> None:
    """Make a condition of a pod true."""
    conditions = pod.setdefault("status", {}).setdefault("conditions", [])
    conditions[:] = [condition for condition in conditions if condition["type"] != kind]
    since = {"lastProbeTime": None, "lastTransitionTime": state.timestamp()}
    conditions.append({"type": kind, "status": "True", **since, **why})


def bind(state: State, target: RequestInfo, binding: Json, options: WriteOptions) -> Json:
    """Assign a pod to a node, as a scheduler does."""
    if (binding.get("metadata") or {}).get("name") != target.name:
        raise bad_request("name in URL does not match name in Binding object")
    type: ResourceType = target.type
    entry = state.require(type, target.namespace, target.name)
    pod = entry.object()
    node = (binding.get("target") or {}).get("name")
    if not node:
        raise invalid_object("", "Binding", target.name, [required("target.name")])
    if entry.deleting:
        raise conflict(
            type.group,
            f"{type.plural}/binding",
            target.name,
            f"pod {target.name} is being deleted, cannot be assigned to a host",
        )
    if pod["spec"].get("nodeName"):
        said = f'pod {target.name} is already assigned to node "{pod["spec"]["nodeName"]}"'
        raise conflict(type.group, f"{type.plural}/binding", target.name, said)
    pod["spec"]["nodeName"] = node
    _set_condition(state, pod, "PodScheduled")
    if not options.dry_run:
        state.storage.put(type.store, pod)
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}
