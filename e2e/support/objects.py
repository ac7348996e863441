"""The objects that cases create."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]


def config_map(name: str, data: Json | None = None, **meta: Any) -> Json:
    """A config map, the simplest object there is."""
    return {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": name, **meta}, "data": data or {"a": "1"}}


def pod(name: str, *, node: str = "", meta: Json | None = None, **spec: Any) -> Json:
    """A pod with one container; on `node` if that is given."""
    bound = {"nodeName": node} if node else {}
    return {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {"name": name, **(meta or {})},
        "spec": {"containers": [{"name": "main", "image": "busybox:1"}], **bound, **spec},
    }


def service(name: str, *, meta: Json | None = None) -> Json:
    """A headless service with one port."""
    spec = {"clusterIP": "None", "ports": [{"port": 80}]}
    return {"kind": "Service", "apiVersion": "v1", "metadata": {"name": name, **(meta or {})}, "spec": spec}


def owned_by(owner: Json, *, blocks: bool = False) -> Json:
    """The metadata of an object that belongs to `owner`."""
    reference = {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
    }
    return {"ownerReferences": [{**reference, "blockOwnerDeletion": True} if blocks else reference]}
