"""From objects on the wire to records: only needed fields are decoded, and strings that repeat are shared."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from functools import lru_cache
from sys import intern
from typing import Any, Final, TypeVar

import msgspec

from training_api.constants import (
    ATTEMPT_ANNOTATION,
    BACKOFF_LEVEL_ANNOTATION,
    JOB_NAME_LABEL,
    REPLICA_INDEX_LABEL,
    REPLICA_TYPE_LABEL,
    RESTARTS_ANNOTATION,
)
from training_controllers.model.owned_objects import OwnedKind
from training_controllers.model.records import (
    ContainerState,
    JobRecord,
    NodeRecord,
    OwnedRecord,
    Owner,
    PodRecord,
    PriorityClassRecord,
    ServiceRecord,
)

T = TypeVar("T")

_NO_TIME: Final = datetime.min.replace(tzinfo=UTC)
_STARTING: Final = frozenset({"ContainerCreating", "PodInitializing"})
"""Waiting reasons in the life of every container: nothing to decide on."""


class _Wire(msgspec.Struct, gc=False, rename="camel"):
    """Base of everything that is read: camelCase, unknown fields skipped."""


class _OwnerReference(_Wire):
    kind: str
    name: str
    uid: str
    api_version: str = ""
    controller: bool | None = None


class _Metadata(_Wire):
    name: str
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    creation_timestamp: datetime | None = None
    deletion_timestamp: datetime | None = None
    deletion_grace_period_seconds: int | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    owner_references: list[_OwnerReference] | None = None


class _Terminated(_Wire):
    exit_code: int = 0
    reason: str = ""
    message: str = ""
    started_at: datetime | None = None
    finished_at: datetime | None = None


class _Waiting(_Wire):
    reason: str = ""
    message: str = ""


class _Running(_Wire):
    started_at: datetime | None = None


class _State(_Wire):
    terminated: _Terminated | None = None
    waiting: _Waiting | None = None
    running: _Running | None = None


class _ContainerStatus(_Wire):
    name: str
    restart_count: int = 0
    state: _State = msgspec.field(default_factory=_State)


class _Phase(_Wire):
    phase: str = ""


class _Phased(_Wire):
    status: _Phase = msgspec.field(default_factory=_Phase)


class _PriorityClass(_Wire):
    metadata: _Metadata
    value: int = 0
    global_default: bool | None = None


class _Condition(_Wire):
    type: str
    status: str
    reason: str = ""
    message: str = ""
    last_transition_time: datetime | None = None


class _PodStatus(_Wire):
    phase: str = ""
    reason: str = ""
    message: str = ""
    pod_ip: str = msgspec.field(default="", name="podIP")
    conditions: list[_Condition] | None = None
    container_statuses: list[_ContainerStatus] | None = None
    init_container_statuses: list[_ContainerStatus] | None = None


class _InitContainer(_Wire):
    name: str
    restart_policy: str = ""


class _PodSpec(_Wire):
    node_name: str = ""
    init_containers: list[_InitContainer] | None = None


class _Pod(_Wire):
    metadata: _Metadata
    spec: _PodSpec = msgspec.field(default_factory=_PodSpec)
    status: _PodStatus = msgspec.field(default_factory=_PodStatus)


class _NodeStatus(_Wire):
    conditions: list[_Condition] | None = None


class _Node(_Wire):
    metadata: _Metadata
    status: _NodeStatus = msgspec.field(default_factory=_NodeStatus)


class _MetadataOnly(_Wire):
    metadata: _Metadata


class _Manager(_Wire):
    manager: str = ""
    fields_v1: dict[str, Any] = {}


class _LeaseMetadata(_Metadata):
    managed_fields: list[_Manager] | None = None


class _Lease(_Wire):
    metadata: _LeaseMetadata
    spec: Any = None


class EventRecord(msgspec.Struct, gc=False, frozen=True):
    """A stored event, as far as it takes to count it up."""

    namespace: str
    name: str
    uid: str
    version: str
    owner: Owner | None = None


class LeaseRecord(msgspec.Struct, gc=False, frozen=True):
    """A stored lease; its spec is kept as it is, so that a renewal keeps fields that we do not know."""

    namespace: str
    name: str
    uid: str
    version: str
    spec: dict[str, Any]
    taken_by: str = ""
    """The program that wrote who holds the lease, as the server knows it; empty if it does not."""
    owner: Owner | None = None


_decode_pod = msgspec.json.Decoder(_Pod).decode
_decode_node = msgspec.json.Decoder(_Node).decode
_decode_metadata = msgspec.json.Decoder(_MetadataOnly).decode
_decode_lease = msgspec.json.Decoder(_Lease).decode
_decode_parts = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_encode = msgspec.json.Encoder().encode
_decode_phased = msgspec.json.Decoder(_Phased).decode
_decode_priority_class = msgspec.json.Decoder(_PriorityClass).decode
_encode_sorted = msgspec.json.Encoder(order="sorted").encode


def pod(raw: bytes) -> PodRecord:
    """Decode a pod."""
    wire = _decode_pod(raw)
    meta, status = wire.metadata, wire.status
    labels, annotations = meta.labels or {}, meta.annotations or {}
    conditions = status.conditions or []
    cause = _cause(status, conditions)
    disruption = next((c for c in conditions if c.type == "DisruptionTarget" and c.status == "True"), None)
    return PodRecord(
        namespace=intern(meta.namespace),
        name=meta.name,
        uid=meta.uid,
        version=meta.resource_version,
        owner=_controller(meta),
        replica_type=intern(labels.get(REPLICA_TYPE_LABEL, "")),
        index=_natural(labels.get(REPLICA_INDEX_LABEL, ""), -1),
        phase=intern(status.phase),
        deleting=meta.deletion_timestamp is not None,
        stops_by=meta.deletion_timestamp if meta.deletion_grace_period_seconds else None,
        ready=any(c.type == "Ready" and c.status == "True" for c in conditions),
        reason=intern(status.reason),
        message=status.message,
        disrupted=disruption is not None,
        disruption=intern(disruption.reason) if disruption else "",
        condition_reason=intern(cause.reason) if cause else "",
        condition_message=cause.message if cause else "",
        containers=_containers(wire),
        restarts_before=_natural(annotations.get(RESTARTS_ANNOTATION, ""), 0),
        backoff_level=_natural(annotations.get(BACKOFF_LEVEL_ANNOTATION, ""), 0),
        attempt=_natural(annotations.get(ATTEMPT_ANNOTATION, ""), 0),
        node=intern(wire.spec.node_name),
        ip="" if status.phase == "Succeeded" else status.pod_ip,
        created=_shared(meta.creation_timestamp),
    )


def service(raw: bytes) -> ServiceRecord:
    """Decode a service."""
    meta = _decode_metadata(raw).metadata
    labels = meta.labels or {}
    return ServiceRecord(
        namespace=intern(meta.namespace),
        name=meta.name,
        uid=meta.uid,
        version=meta.resource_version,
        owner=_controller(meta),
        replica_type=intern(labels.get(REPLICA_TYPE_LABEL, "")),
        index=_natural(labels.get(REPLICA_INDEX_LABEL, ""), -1),
        deleting=meta.deletion_timestamp is not None,
        job_label=intern(labels.get(JOB_NAME_LABEL, "")),
    )


def owned(kind: OwnedKind, raw: bytes) -> OwnedRecord:
    """Decode an owned object; only the part that depends on the job is kept."""
    meta = _decode_metadata(raw).metadata
    parts = _decode_parts(raw) if kind.content else {}
    content = msgspec.json.decode(parts[kind.content]) if kind.content in parts else None
    return OwnedRecord(
        kind=kind.name,
        namespace=intern(meta.namespace),
        name=meta.name,
        uid=meta.uid,
        version=meta.resource_version,
        owner=_controller(meta),
        content=_encode_sorted(content),
        deleting=meta.deletion_timestamp is not None,
        phase=intern(_decode_phased(raw).status.phase) if kind.phased else "",
    )


def node(raw: bytes) -> NodeRecord:
    """Decode a node."""
    wire = _decode_node(raw)
    meta = wire.metadata
    unready = (c for c in wire.status.conditions or () if c.type == "Ready" and c.status != "True")
    since = next((c.last_transition_time for c in unready), None)
    return NodeRecord(meta.name, meta.uid, meta.resource_version, since)


def priority_class(raw: bytes) -> PriorityClassRecord:
    """Decode a priority class."""
    wire = _decode_priority_class(raw)
    meta = wire.metadata
    return PriorityClassRecord(meta.name, meta.uid, meta.resource_version, wire.value, bool(wire.global_default))


def job(raw: bytes) -> JobRecord:
    """Take a job of any kind as JSON; its spec is decoded only when the job is reconciled."""
    meta = _decode_metadata(raw).metadata
    parts = _decode_parts(raw)
    metadata = _decode_parts(parts["metadata"])
    for name in ("managedFields", "resourceVersion"):
        metadata.pop(name, None)
    parts["metadata"] = msgspec.Raw(_encode(metadata))
    status = parts.pop("status", msgspec.Raw(b"null"))
    return JobRecord(
        namespace=intern(meta.namespace),
        name=meta.name,
        uid=meta.uid,
        version=meta.resource_version,
        raw=_encode(parts),
        status=bytes(status),
    )


def event(raw: bytes) -> EventRecord:
    """Decode an event."""
    meta = _decode_metadata(raw).metadata
    return EventRecord(meta.namespace, meta.name, meta.uid, meta.resource_version)


def lease(raw: bytes) -> LeaseRecord:
    """Decode a lease."""
    wire = _decode_lease(raw)
    meta = wire.metadata
    holders = [
        each.manager for each in meta.managed_fields or () if "f:holderIdentity" in each.fields_v1.get("f:spec", {})
    ]
    return LeaseRecord(
        meta.namespace, meta.name, meta.uid, meta.resource_version, wire.spec or {}, taken_by="".join(holders[:1])
    )


def _controller(meta: _Metadata) -> Owner | None:
    for each in meta.owner_references or ():
        if each.controller:
            return _owner(each.kind, each.name, each.uid, each.api_version.partition("/")[0])
    return None


@lru_cache(maxsize=1024)
def _owner(kind: str, name: str, uid: str, group: str) -> Owner:
    """Share one owner among all objects of a job; names are not interned: Python 3.12 keeps such strings forever."""
    return Owner(intern(kind), name, uid, intern(group))


def _natural(text: str, default: int) -> int:
    return int(text) if text.isascii() and text.isdecimal() else default


def _cause(status: _PodStatus, conditions: list[_Condition]) -> _Condition | None:
    """Find the condition that gives the reason why no container has a status yet."""
    if not conditions or status.container_statuses or status.init_container_statuses:
        return None
    latest = max(conditions, key=lambda each: each.last_transition_time or _NO_TIME)
    return latest if latest.status != "True" else None


def _containers(wire: _Pod) -> tuple[ContainerState, ...]:
    """Return the notable containers; without times if the pod has succeeded, so that most of them are equal."""
    found = tuple(_notable(wire))
    if wire.status.phase != "Succeeded":
        return found
    alike: tuple[ContainerState, ...] = _shared(
        tuple(msgspec.structs.replace(each, started_at=None, finished_at=None) for each in found)
    )
    return alike


@lru_cache(maxsize=1024)
def _shared(value: T) -> T:
    """Return the first of equal values: many pods were created in one second."""
    return value


def _notable(wire: _Pod) -> Iterator[ContainerState]:
    """Return the containers of a pod with something notable; native sidecars restart on their own account."""
    sidecars = {each.name for each in wire.spec.init_containers or () if each.restart_policy == "Always"}
    statuses = ((True, wire.status.init_container_statuses), (False, wire.status.container_statuses))
    for init, containers in statuses:
        for each in containers or ():
            if init and each.name in sidecars:
                each.restart_count = 0
            ended, waiting, running = each.state.terminated, each.state.waiting, each.state.running
            if ended is not None and (ended.exit_code or not init or each.restart_count):
                yield ContainerState(
                    name=intern(each.name),
                    init=init,
                    restarts=each.restart_count,
                    exit_code=ended.exit_code,
                    finished_at=ended.finished_at,
                    started_at=ended.started_at,
                    reason=intern(ended.reason),
                    message=ended.message,
                )
            elif each.restart_count or (waiting is not None and waiting.reason not in _STARTING):
                yield ContainerState(
                    name=intern(each.name),
                    init=init,
                    restarts=each.restart_count,
                    started_at=running.started_at if running else None,
                    reason=intern(waiting.reason) if waiting else "",
                    message=waiting.message if waiting else "",
                    waiting=waiting is not None,
                )
