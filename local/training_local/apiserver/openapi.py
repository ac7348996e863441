"""The API described in OpenAPI: version 3 by group and version, and version 2 in one document.

`kubectl` reads from it whether the server checks fields (`fieldValidation`), what `explain` shows, and how lists merge.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec

from training_local.apiserver import openapi_v2
from training_local.apiserver.builtin.schemas import component_schemas, kubernetes_version
from training_local.apiserver.errors import Json
from training_local.apiserver.resource_types import ResourceType

JSON = "application/json"
OBJECT_META = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
V3_PREFIX, V2_PREFIX = "#/components/schemas/", "#/definitions/"
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


def document(path: str, accept: str, types: Sequence[ResourceType]) -> tuple[bytes, str] | None:
    """Return the answer to a request below /openapi, with its content type; `None` if there is no such document."""
    match path.strip("/").split("/"):
        case ["openapi", "v2"]:
            return _document_2(accept, _version_2(types))
        case ["openapi", "v3"]:
            return msgspec.json.encode(_index(types)), JSON
        case ["openapi", "v3", "api", version]:
            return _version_3("", version, types)
        case ["openapi", "v3", "apis", group, version]:
            return _version_3(group, version, types)
    return None


def _index(types: Sequence[ResourceType]) -> Json:
    paths = {}
    for group, version in dict.fromkeys((each.group, each.version) for each in types):
        name = f"apis/{group}/{version}" if group else f"api/{version}"
        content = _version_3(group, version, types)
        digest = hashlib.sha512(content[0] if content else b"").hexdigest().upper()
        paths[name] = {"serverRelativeURL": f"/openapi/v3/{name}?hash={digest}"}
    return {"paths": paths}


def _version_3(group: str, version: str, types: Sequence[ResourceType]) -> tuple[bytes, str] | None:
    served = [each for each in types if (each.group, each.version) == (group, version)]
    if not served:
        return None
    told = {
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes", "version": kubernetes_version()},
        "paths": {path: item for each in served for path, item in _paths(each, _parameter_3)},
        "components": {"schemas": _schemas(served, V3_PREFIX)},
    }
    return msgspec.json.encode(told), JSON


def _version_2(types: Sequence[ResourceType]) -> Json:
    return {
        "swagger": "2.0",
        "info": {"title": "Kubernetes", "version": kubernetes_version()},
        "paths": {path: item for each in types for path, item in _paths(each, _parameter_2)},
        "definitions": _schemas(types, V2_PREFIX),
    }


def _document_2(accept: str, told: Json) -> tuple[bytes, str]:
    """Write version 2 in the first form that the client accepts: protobuf, which old clients need, or JSON."""
    for offered in accept.split(","):
        media = offered.partition(";")[0].strip()
        if media in openapi_v2.ACCEPTED:
            return openapi_v2.to_protobuf(told), openapi_v2.PROTOBUF
        if media in (JSON, "application/*", "*/*", ""):
            break
    return msgspec.json.encode(told), JSON


def _parameter_3(name: str, place: str) -> Json:
    schema = {"type": _SCALARS.get(name, "string"), "uniqueItems": True}
    return {"name": name, "in": place, "schema": schema, **({"required": True} if place == "path" else {})}


def _parameter_2(name: str, place: str) -> Json:
    schema = {"type": _SCALARS.get(name, "string"), "uniqueItems": True}
    return {"name": name, "in": place, **schema, **({"required": True} if place == "path" else {})}


def _paths(type: ResourceType, parameter: Callable[[str, str], Json]) -> Iterator[tuple[str, Json]]:
    """Describe the paths of a type: the collection, one object, and the subresources of one."""
    root = f"/apis/{type.group}/{type.version}" if type.group else f"/api/{type.version}"
    below = [parameter("namespace", "path")] if type.namespaced else []
    scope = "/namespaces/{namespace}" if type.namespaced else ""
    collection, one = f"{root}{scope}/{type.plural}", f"{root}{scope}/{type.plural}/{{name}}"
    named = [*below, parameter("name", "path")]
    yield collection, _item(type, ("get", "post"), "list", below, parameter)
    yield one, _item(type, ("get", "put", "patch", "delete"), "get", named, parameter)
    for name in sorted(type.subresources & {"status"}):
        yield f"{one}/{name}", _item(type, ("get", "put", "patch"), "get", named, parameter)


def _item(
    type: ResourceType,
    methods: Iterable[str],
    reading: str,
    common: list[Json],
    parameter: Callable[[str, str], Json],
) -> Json:
    kind = {"group": type.group, "version": type.version, "kind": type.kind}
    item: Json = {"parameters": common} if common else {}
    for method in methods:
        item[method] = {
            "parameters": [parameter(name, "query") for name in _PARAMETERS[method]],
            "responses": {"200": {"description": "OK"}},
            "x-kubernetes-action": reading if method == "get" else method,
            "x-kubernetes-group-version-kind": kind,
        }
    return item


def _schemas(types: Sequence[ResourceType], prefix: str) -> Json:
    """Return the schemas of types and of all that they refer to, by component name."""
    known = component_schemas()
    schemas: Json = {}
    todo: list[tuple[str, Json]] = [(component_name(each), _whole(each)) for each in types]
    while todo:
        name, schema = todo.pop()
        if name in schemas:
            continue
        named: list[str] = []
        written = openapi_v2.simplified(schema) if prefix == V2_PREFIX else schema
        schemas[name] = _linked(written, prefix, named)
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


def _linked(schema: Json, prefix: str, named: list[str]) -> Json:
    """Write references in full; note the names of what is referred to."""
    linked: Json = {}
    for key, value in schema.items():
        if key == "$ref" and isinstance(value, str):
            named.append(value)
            wrapped = len(schema) > 1 and prefix == V3_PREFIX
            linked["allOf" if wrapped else key] = [{"$ref": prefix + value}] if wrapped else prefix + value
        elif key == "properties":
            linked[key] = {name: _linked(inner, prefix, named) for name, inner in value.items()}
        elif key in ("items", "additionalProperties", "not") and isinstance(value, dict):
            linked[key] = _linked(value, prefix, named)
        elif key in ("allOf", "anyOf", "oneOf"):
            linked[key] = [_linked(inner, prefix, named) for inner in value]
        else:
            linked[key] = value
    return linked
