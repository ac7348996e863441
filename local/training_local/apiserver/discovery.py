"""Discovery: groups, versions and resources, in the form without aggregation, which every client understands."""

from __future__ import annotations

import base64
import hashlib
import platform
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from training_local.apiserver.builtin.schemas import kubernetes_version
from training_local.apiserver.errors import Json
from training_local.apiserver.resource_types import ResourceType

_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
_VERSION = re.compile(r"v(\d+)(?:(alpha|beta)(\d+))?")
_STAGES = {"alpha": 0, "beta": 1, None: 2}


@dataclass(frozen=True, slots=True)
class _Subresource:
    kind: str
    verbs: tuple[str, ...]
    group: str | None = None
    """Group of `kind` where it is not the resource's own."""


_CUSTOM_ORDER = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")
"""The order in which the real server lists the verbs of custom resources; those of others are sorted."""
_CHANGED = ("get", "patch", "update")
_SUBRESOURCES: Mapping[str, _Subresource] = {
    "binding": _Subresource("Binding", ("create",)),
    "eviction": _Subresource("Eviction", ("create",), "policy"),
    "exec": _Subresource("PodExecOptions", ("create", "get")),
    "finalize": _Subresource("", ("update",)),
    "log": _Subresource("", ("get",)),
    "portforward": _Subresource("PodPortForwardOptions", ("create", "get")),
    "scale": _Subresource("Scale", _CHANGED, "autoscaling"),
    "status": _Subresource("", _CHANGED),
    "token": _Subresource("TokenRequest", ("create",), "authentication.k8s.io"),
}
"""Kind "" stands for the resource's own kind."""


def document(path: str, types: Sequence[ResourceType]) -> Json | None:
    """Return the answer to a discovery request; `None` if `path` is none of discovery."""
    match path.strip("/").split("/"):
        case ["version"]:
            return _server_version()
        case ["api" | "apis" as root]:
            listed = [each for each in types if bool(each.group) == (root == "apis")]
            return _group_list(listed) if root == "apis" else _core_versions()
        case ["apis", group]:
            found = [each for each in types if each.group == group]
            return _group(group, found) if found else None
        case ["api", *rest] | ["apis", *rest] if len(rest) == 1 + path.startswith("/apis"):
            return _resources("".join(rest[:-1]), rest[-1], types)
    return None


def _server_version() -> Json:
    version = kubernetes_version()
    major, minor, _ = version.removeprefix("v").split(".", 2)
    machine = platform.machine()
    return {
        "major": major,
        "minor": minor,
        "emulationMajor": major,
        "emulationMinor": minor,
        "minCompatibilityMajor": major,
        "minCompatibilityMinor": str(int(minor) - 1),
        "gitVersion": version,
        "gitCommit": "",
        "gitTreeState": "",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "",
        "compiler": platform.python_implementation(),
        "platform": f"linux/{_ARCHITECTURES.get(machine, machine)}",
    }


def _core_versions() -> Json:
    # The address is for clients that look for another one; there is none.
    addresses = [{"clientCIDR": "0.0.0.0/0", "serverAddress": ""}]
    return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": addresses}


def _groups(types: Iterable[ResourceType]) -> dict[str, list[ResourceType]]:
    groups: dict[str, list[ResourceType]] = {}
    for each in types:
        groups.setdefault(each.group, []).append(each)
    return groups


def _versions(types: Iterable[ResourceType]) -> list[str]:
    """Return the versions of a group, the preferred one first (v2, v1, v1beta1, v1alpha1, others by name)."""

    def rank(version: str) -> tuple[int, int, int]:
        found = _VERSION.fullmatch(version)
        if found is None:
            return (-1, 0, 0)
        major, stage, minor = found.groups()
        return (_STAGES[stage], int(major), int(minor or 0))

    return sorted(sorted({each.version for each in types}), key=rank, reverse=True)


def _group(group: str, types: Sequence[ResourceType], nested: bool = False) -> Json:
    versions = [{"groupVersion": f"{group}/{version}", "version": version} for version in _versions(types)]
    head: Json = {} if nested else {"kind": "APIGroup", "apiVersion": "v1"}
    return {**head, "name": group, "versions": versions, "preferredVersion": versions[0]}


def _group_list(types: Sequence[ResourceType]) -> Json:
    groups = [_group(group, members, nested=True) for group, members in _groups(types).items()]
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}


def _resources(group: str, version: str, types: Sequence[ResourceType]) -> Json | None:
    found = [each for each in types if (each.group, each.version) == (group, version)]
    if not found:
        return None
    head: Json = {"kind": "APIResourceList", **({"apiVersion": "v1"} if group else {})}
    listed = [entry for each in found for entry in _entries(each)]
    return {**head, "groupVersion": found[0].api_version, "resources": listed}


def _verbs(type: ResourceType) -> list[str]:
    return [verb for verb in _CUSTOM_ORDER if verb in type.verbs] if type.custom else sorted(type.verbs)


def _entries(type: ResourceType) -> Iterator[Json]:
    entry: Json = {
        "name": type.plural,
        "singularName": type.singular,
        "namespaced": type.namespaced,
        "kind": type.kind,
        "verbs": _verbs(type),
    }
    if type.short_names:
        entry["shortNames"] = list(type.short_names)
    if type.categories:
        entry["categories"] = list(type.categories)
    if type.custom:
        entry["storageVersionHash"] = _storage_version_hash(type)
    yield entry
    for name in sorted(type.subresources):
        sub = _SUBRESOURCES[name]
        own = {"group": sub.group, "version": "v1"} if sub.group is not None else {}
        yield {
            "name": f"{type.plural}/{name}",
            "singularName": "",
            "namespaced": type.namespaced,
            **own,
            "kind": sub.kind or type.kind,
            "verbs": list(sub.verbs),
        }


def _storage_version_hash(type: ResourceType) -> str:
    """Return what changes when objects are stored in another version."""
    digest = hashlib.sha256(f"{type.group}/{type.stored_version}/{type.kind}".encode()).digest()
    return base64.b64encode(digest[:8]).decode()
