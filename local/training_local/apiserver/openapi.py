"""The API described in OpenAPI version 3, by group and version.

`kubectl` reads from it whether the server checks fields (`fieldValidation`), what `explain` shows, and how lists merge.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from training_local.apiserver.builtin.schemas import component_schemas, kubernetes_version
from training_local.apiserver.errors import Json
from training_local.apiserver.resource_types import ResourceType

JSON = "application/json"
OBJECT_META = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
PREFIX = "#/components/schemas/"
PROTOBUF_2 = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
"""Version 2 is an empty document: kubectl asks for it where it cannot read an object, and then checks nothing."""
_TEXT = ("fieldManager", "fieldValidation", "dryRun", "pretty")
_PARAMETERS = {
    "get": ("pretty",),
    "post": _TEXT,
    "put": _TEXT,
    "patch": (*_TEXT, "force"),
    "delete": ("dryRun", "gracePeriodSeconds", "orphanDependents", "propagationPolicy", "pretty"),
}
"""Method -> names of its query parameters."""
_SCALARS = {"force": "boolean", "orphanDependents": "boolean", "gracePeriodSeconds": "integer"}


def document(path: str, types: Sequence[ResourceType]) -> tuple[bytes, str] | None:
    """Return the answer to a request below /openapi, with its content type; `None` if there is no such document."""
    match path.strip("/").split("/"):
        case ["openapi", "v2"]:
            return b"", PROTOBUF_2
        case ["openapi", "v3"]:
            return msgspec.json.encode(_index(types)), JSON
        case ["openapi", "v3", "api", version]:
            return _version("", version, types)
        case ["openapi", "v3", "apis", group, version]:
            return _version(group, version, types)
    return None


def _index(types: Sequence[ResourceType]) -> Json:
    paths = {}
    for group, version in dict.fromkeys((each.group, each.version) for each in types):
        name = f"apis/{group}/{version}" if group else f"api/{version}"
        content = _version(group, version, types)
        digest = hashlib.sha512(content[0] if content else b"").hexdigest().upper()
        paths[name] = {"serverRelativeURL": f"/openapi/v3/{name}?hash={digest}"}
    return {"paths": paths}


def _version(group: str, version: str, types: Sequence[ResourceType]) -> tuple[bytes, str] | None:
    served = [each for each in types if (each.group, each.version) == (group, version)]
    if not served:
        return None
    content = {
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes", "version": kubernetes_version()},
        "paths": {path: item for each in served for path, item in _paths(each)},
        "components": {"schemas": _schemas(served)},
    }
    return msgspec.json.encode(content), JSON


def _parameter(name: str, place: str) -> Json:
    schema = {"type": _SCALARS.get(name, "string"), "uniqueItems": True}
    return {"name": name, "in": place, "schema": schema, **({"required": True} if place == "path" else {})}


def _paths(type: ResourceType) -> Iterator[tuple[str, Json]]:
    """Describe the paths of a type: the collection, one object, and the subresources of one."""
    root = f"/apis/{type.group}/{type.version}" if type.group else f"/api/{type.version}"
    below = [_parameter("namespace", "path")] if type.namespaced else []
    scope = "/namespaces/{namespace}" if type.namespaced else ""
    collection, one = f"{root}{scope}/{type.plural}", f"{root}{scope}/{type.plural}/{{name}}"
    named = [*below, _parameter("name", "path")]
    yield collection, _item(type, ("get", "post"), "list", below)
    yield one, _item(type, ("get", "put", "patch", "delete"), "get", named)
    for name in sorted(type.subresources & {"status"}):
        yield f"{one}/{name}", _item(type, ("get", "put", "patch"), "get", named)


def _item(type: ResourceType, methods: Iterable[str], reading: str, common: list[Json]) -> Json:
    kind = {"group": type.group, "version": type.version, "kind": type.kind}
    item: Json = {"parameters": common} if common else {}
    for method in methods:
        item[method] = {
            "parameters": [_parameter(name, "query") for name in _PARAMETERS[method]],
            "responses": {"200": {"description": "OK"}},
            "x-kubernetes-action": reading if method == "get" else method,
            "x-kubernetes-group-version-kind": kind,
        }
    return item


def _schemas(types: Sequence[ResourceType]) -> Json:
    """Return the schemas of types and of all that they refer to, by component name."""
    known = component_schemas()
    schemas: Json = {}
    todo: list[tuple[str, Json]] = [(component_name(each), _whole(each)) for each in types]
    while todo:
        name, schema = todo.pop()
        if name in schemas:
            continue
        named: list[str] = []
        schemas[name] = _linked(schema, named)
        todo += [(each, known[each]) for each in named]
    return schemas


def component_name(type: ResourceType) -> str:
    """Return the component name of a type: of a custom one the group backwards, as in `org.kubeflow.v1.PyTorchJob`."""
    if not type.custom:
        return str(getattr(type.rules, "component", type.kind))
    return ".".join([*reversed(type.group.split(".")), type.version, type.kind])


def _whole(type: ResourceType) -> Json:
    """Return the schema of a type; that of a custom one with what all objects have."""
    if not type.custom:
        return type.schema or {}
    schema = type.schema or {}
    common = {"apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": {"$ref": OBJECT_META}}
    kind = {"group": type.group, "version": type.version, "kind": type.kind}
    return {
        **schema,
        "type": "object",
        "properties": {**schema.get("properties", {}), **common},
        "x-kubernetes-group-version-kind": [kind],
    }


def _linked(schema: Json, named: list[str]) -> Json:
    """Write references in full; note the names of what is referred to."""
    linked: Json = {}
    for key, value in schema.items():
        if key == "$ref" and isinstance(value, str):
            named.append(value)
            wrapped = len(schema) > 1
            linked["allOf" if wrapped else key] = [{"$ref": PREFIX + value}] if wrapped else PREFIX + value
        elif key == "properties":
            linked[key] = {name: _linked(inner, named) for name, inner in value.items()}
        elif key in ("items", "additionalProperties", "not") and isinstance(value, dict):
            linked[key] = _linked(value, named)
        elif key in ("allOf", "anyOf", "oneOf"):
            linked[key] = [_linked(inner, named) for inner in value]
        else:
            linked[key] = value
    return linked
