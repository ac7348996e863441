"""From a path to the resource, namespace, name and subresource it means."""

from __future__ import annotations

from training_local.apiserver.catalog import Catalog
from training_local.apiserver.request_info import RequestInfo

_OF_NAMESPACES = ("status", "finalize")


def route(path: str, catalog: Catalog) -> RequestInfo | None:
    """Return what a decoded path under /api/v1 or /apis means; None if nothing is served there."""
    parts = path.strip("/").split("/")
    if parts[:2] == ["api", "v1"]:
        group, version, rest = "", "v1", parts[2:]
    elif parts[0] == "apis" and len(parts) > 3:
        group, version, rest = parts[1], parts[2], parts[3:]
    else:
        return None
    namespace = ""
    if len(rest) > 2 and rest[0] == "namespaces" and not (group == "" and rest[2] in _OF_NAMESPACES and len(rest) == 3):
        namespace, rest = rest[1], rest[2:]
    if not 1 <= len(rest) <= 3 or not all(rest):
        return None
    plural, name, subresource = (*rest, "", "")[:3]
    type = catalog.find(group, version, plural)
    if type is None or (subresource and subresource not in type.subresources):
        return None
    if bool(namespace) and not type.namespaced:
        return None
    if name and bool(namespace) != type.namespaced:
        return None
    return RequestInfo(type, namespace, name, subresource)
