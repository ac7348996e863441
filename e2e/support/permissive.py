"""Resource types without rules of their own, for tests of what all types have in common."""

from __future__ import annotations

from typing import Any

from training_local.apiserver.resource_types import Admitted, Context, Decoded, ResourceType

Json = dict[str, Any]


class Anything:
    """Rules that accept every content and keep spec and status apart."""

    def decode(self, obj: Json, *, keep_nulls: bool = False) -> Decoded:
        return Decoded(obj)

    def for_create(self, obj: Json, context: Context) -> Admitted:
        obj.pop("status", None)
        return Admitted(obj)

    def for_update(self, old: Json, new: Json, subresource: str, context: Context) -> Admitted:
        if subresource == "status":
            return Admitted({**old, "metadata": new["metadata"], "status": new.get("status", {})})
        return Admitted({**new, "status": old["status"]} if "status" in old else new)


class AnyNamespace(Anything):
    """The little that a namespace must have."""

    def for_create(self, obj: Json, context: Context) -> Admitted:
        return Admitted({**obj, "spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"}})


def _type(kind: str, plural: str, **more: Any) -> ResourceType:
    more.setdefault("rules", Anything())
    return ResourceType(group="", version="v1", kind=kind, plural=plural, singular=kind.lower(), **more)


PODS = _type(
    "Pod",
    "pods",
    generation=True,
    returns_deleted=True,
    subresources=frozenset({"status", "log", "eviction", "binding"}),
    selectable={
        "spec.nodeName": lambda pod: pod.get("spec", {}).get("nodeName", ""),
        "status.phase": lambda pod: pod.get("status", {}).get("phase", ""),
    },
)
CONFIG_MAPS = _type("ConfigMap", "configmaps")
SERVICE_ACCOUNTS = _type("ServiceAccount", "serviceaccounts", returns_deleted=True)
NAMESPACES = _type(
    "Namespace",
    "namespaces",
    namespaced=False,
    names="label",
    rules=AnyNamespace(),
    returns_deleted=True,
    subresources=frozenset({"status", "finalize"}),
)
TYPES = (PODS, CONFIG_MAPS, SERVICE_ACCOUNTS, NAMESPACES)
