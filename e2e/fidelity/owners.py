"""What the cases of server-side apply share: apply patches, owners of fields as they are written down, custom kinds."""

from __future__ import annotations

from typing import Any

from e2e.fidelity.kinds import define, resource
from e2e.fidelity.player import Answer, Json, Player

APPLY = "application/apply-patch+yaml"


async def apply(api: Player, path: str, config: Any, manager: str = "one", **query: str) -> Answer:
    """Apply a configuration; write down the answer and, if it worked, the owners that it shows."""
    answer = await api.patch(path, config, APPLY, fieldManager=manager, **query)
    if answer.status < 400:
        note_owners(api, answer)
    return answer


async def show_owners(api: Player, path: str) -> list[Json]:
    """Write down the owners of an object's fields; return them as they came."""
    answer = await api.quietly("GET", path)
    note_owners(api, answer)
    return list(answer.body["metadata"].get("managedFields", []))


def note_owners(api: Player, answer: Answer) -> None:
    """Write down the owners of fields, in an order that does not depend on seconds."""
    entries = answer.body["metadata"].get("managedFields")
    api.note("owners", sorted(entries, key=_order) if entries else entries)


def _order(entry: Json) -> tuple[str, ...]:
    return tuple(entry.get(key, "") for key in ("operation", "manager", "apiVersion", "subresource"))


def config_map(data: Json | None = None, **meta: Any) -> Json:
    """A configuration of the config map `a`."""
    given = {} if data is None else {"data": data}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", **meta}, **given}


def pod(*containers: Json, **spec: Any) -> Json:
    """A configuration of the pod `a`."""
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {"containers": [*containers], **spec}}


def service(*ports: Json, **spec: Any) -> Json:
    """A configuration of the headless service `a`."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "a"},
        "spec": {"clusterIP": "None", "ports": [*ports], **spec},
    }


_TEMPLATE = {
    "type": "object",
    "properties": {
        "metadata": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "spec": {
            "type": "object",
            "x-kubernetes-preserve-unknown-fields": True,
            "properties": {
                "containers": {
                    "type": "array",
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["name"],
                    "items": {
                        "type": "object",
                        "x-kubernetes-preserve-unknown-fields": True,
                        "required": ["name"],
                        "properties": {
                            "name": {"type": "string"},
                            "image": {"type": "string"},
                            "ports": {
                                "type": "array",
                                "x-kubernetes-list-type": "map",
                                "x-kubernetes-list-map-keys": ["containerPort", "protocol"],
                                "items": {
                                    "type": "object",
                                    "required": ["containerPort"],
                                    "properties": {
                                        "containerPort": {"type": "integer"},
                                        "protocol": {"type": "string", "default": "TCP"},
                                        "name": {"type": "string"},
                                    },
                                },
                            },
                        },
                    },
                },
            },
        },
    },
}
_CONDITIONS = {
    "type": "array",
    "items": {"type": "object", "properties": {"type": {"type": "string"}, "status": {"type": "string"}}},
}
_KEYED_CONDITIONS = {**_CONDITIONS, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]}
_KEYED_CONDITIONS["items"] = {**_CONDITIONS["items"], "required": ["type"]}  # type: ignore[dict-item]  # JSON
_REPLICAS = {
    "type": "object",
    "additionalProperties": {
        "type": "object",
        "properties": {
            "replicas": {"type": "integer", "default": 1},
            "restartPolicy": {"type": "string"},
            "template": _TEMPLATE,
        },
    },
}
_JOB = {
    "type": "object",
    "properties": {
        "replicaSpecs": _REPLICAS,
        "runPolicy": {
            "type": "object",
            "default": {},
            "properties": {"cleanPodPolicy": {"type": "string"}, "backoffLimit": {"type": "integer"}},
        },
        "tags": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
        "args": {"type": "array", "items": {"type": "string"}},
        "selector": {"type": "object", "additionalProperties": {"type": "string"}, "x-kubernetes-map-type": "atomic"},
        "settings": {"type": "object", "additionalProperties": {"type": "string"}},
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "slots": {"x-kubernetes-int-or-string": True},
        "replicas": {"type": "integer"},
    },
}
_JOB_STATUS = {
    "type": "object",
    "properties": {
        "conditions": _CONDITIONS,
        "keyed": _KEYED_CONDITIONS,
        "replicas": {"type": "integer"},
        "replicaStatuses": {
            "type": "object",
            "additionalProperties": {"type": "object", "properties": {"active": {"type": "integer"}}},
        },
    },
}


async def define_jobs(api: Player) -> str:
    """Define a kind like our jobs; return the path of its collection."""
    schema = {"type": "object", "properties": {"spec": _JOB, "status": _JOB_STATUS}}
    scale = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}
    return await define(
        api, "AppliedJob", {}, schema={"openAPIV3Schema": schema}, subresources={"status": {}, "scale": scale}
    )


def job(**spec: Any) -> Json:
    """A configuration of the job `a`."""
    return resource("AppliedJob", **spec)


def job_status(**status: Any) -> Json:
    """A configuration of the status of the job `a`."""
    return {**{key: value for key, value in resource("AppliedJob").items() if key != "spec"}, "status": status}


def worker(replicas: int | None = None, *containers: Json, **more: Any) -> Json:
    """The replica spec of workers."""
    counted = {} if replicas is None else {"replicas": replicas}
    return {**counted, "template": {"spec": {"containers": [*containers]}}, **more}
