"""What the server serves: groups, versions and resources, in the plain and the aggregated form of discovery."""

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

JSON = "application/json"
AGGREGATED = "application/json;g=apidiscovery.k8s.io;v={version};as=APIGroupDiscoveryList"
_AGGREGATED_VERSIONS = ("v2", "v2beta1")
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
_VERSION = re.compile(r"v(\d+)(?:(alpha|beta)(\d+))?")
_STAGES = {"alpha": 0, "beta": 1, None: 2}


@dataclass(frozen=True, slots=True)
class _Subresource:
    kind: str
    verbs: tuple[str, ...]
    group: str | None = None
    """Group of `kind` where it is not the resource's own."""
    version: str = "v1"


_CUSTOM_ORDER = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")
"""The order in which the real server tells the verbs of custom resources; those of others stand by name."""
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


def document(path: str, accept: str, types: Sequence[ResourceType]) -> tuple[Json, str] | None:
    """Return the answer to a discovery request, with its content type; `None` if `path` is none of discovery."""
    match path.strip("/").split("/"):
        case ["version"]:
            return _server_version(), JSON
        case ["api" | "apis" as root]:
            listed = [each for each in types if bool(each.group) == (root == "apis")]
            return _root(accept, listed, _group_list(listed) if root == "apis" else _core_versions())
        case ["apis", group]:
            found = [each for each in types if each.group == group]
            return (_group(group, found), JSON) if found else None
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


def _root(accept: str, types: Sequence[ResourceType], plain: Json) -> tuple[Json, str]:
    """Choose the aggregated form if the client prefers it."""
    for offered in accept.split(","):
        media, *parameters = (part.strip() for part in offered.split(";"))
        given = dict(part.partition("=")[::2] for part in parameters)
        if media in (JSON, "application/*", "*/*") and given.get("as") == "APIGroupDiscoveryList":
            if given.get("g") == "apidiscovery.k8s.io" and (version := given.get("v")) in _AGGREGATED_VERSIONS:
                return _aggregated(types, str(version)), AGGREGATED.format(version=version)
        elif media in (JSON, "application/*", "*/*"):
            break
    return plain, JSON


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
    told: Json = {} if nested else {"kind": "APIGroup", "apiVersion": "v1"}
    return {**told, "name": group, "versions": versions, "preferredVersion": versions[0]}


def _group_list(types: Sequence[ResourceType]) -> Json:
    groups = [_group(group, members, nested=True) for group, members in _groups(types).items()]
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}


def _resources(group: str, version: str, types: Sequence[ResourceType]) -> tuple[Json, str] | None:
    found = [each for each in types if (each.group, each.version) == (group, version)]
    if not found:
        return None
    told: Json = {"kind": "APIResourceList", **({"apiVersion": "v1"} if group else {})}
    listed = [entry for each in found for entry in _entries(each)]
    return {**told, "groupVersion": found[0].api_version, "resources": listed}, JSON


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
        own = {"group": sub.group, "version": sub.version} if sub.group is not None else {}
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


def _aggregated(types: Sequence[ResourceType], version: str) -> Json:
    items = [
        {
            "metadata": {"name": group, "creationTimestamp": None} if group else {"creationTimestamp": None},
            "versions": [_aggregated_version(name, members) for name in _versions(members)],
        }
        for group, members in _groups(types).items()
    ]
    api_version = f"apidiscovery.k8s.io/{version}"
    return {"kind": "APIGroupDiscoveryList", "apiVersion": api_version, "metadata": {}, "items": items}


def _aggregated_version(version: str, types: Iterable[ResourceType]) -> Json:
    resources = [_aggregated_resource(each) for each in types if each.version == version]
    return {"version": version, "resources": resources, "freshness": "Current"}


def _aggregated_resource(type: ResourceType) -> Json:
    told: Json = {
        "resource": type.plural,
        "responseKind": _response_kind(type),
        "scope": "Namespaced" if type.namespaced else "Cluster",
        "singularResource": type.singular,
        "verbs": _verbs(type),
    }
    if type.short_names:
        told["shortNames"] = list(type.short_names)
    if type.categories:
        told["categories"] = list(type.categories)
    if type.subresources:
        told["subresources"] = [_aggregated_subresource(type, name) for name in sorted(type.subresources)]
    return told


def _response_kind(type: ResourceType) -> Json:
    """Return the kind of a resource; of builtin ones the real server leaves group and version to the reader."""
    group, version = (type.group, type.version) if type.custom else ("", "")
    return {"group": group, "version": version, "kind": type.kind}


def _aggregated_subresource(type: ResourceType, name: str) -> Json:
    sub = _SUBRESOURCES[name]
    kind = _response_kind(type)
    if sub.group is not None:
        kind |= {"group": sub.group, "version": sub.version}
    if sub.kind:
        kind["kind"] = sub.kind
    return {"subresource": name, "responseKind": kind, "verbs": list(sub.verbs)}
