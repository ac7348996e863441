"""CustomResourceDefinitions as objects: defaults and validation."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import msgspec

from training_local.apiserver import names
from training_local.apiserver.builtin.rules import BuiltinRules
from training_local.apiserver.custom.cel import CompileError
from training_local.apiserver.custom.json_path import JsonPath, PathError
from training_local.apiserver.custom.rules import PathError as FieldPathError
from training_local.apiserver.custom.rules import compile_rule
from training_local.apiserver.custom.schema_validation import compiled, schema_causes
from training_local.apiserver.custom.structural import META_FIELDS, Structural, compiled_schema
from training_local.apiserver.errors import Cause, Json, forbidden_value, invalid, not_supported, required
from training_local.apiserver.resource_types import Context

SCOPES = ("Cluster", "Namespaced")
COLUMN_TYPES = ("boolean", "date", "integer", "number", "string")
SCHEMA_TYPES = ("array", "boolean", "integer", "number", "object", "string")
LIST_TYPES = ("atomic", "set", "map")


def default_crd(crd: Json) -> None:
    """Fill in the defaults of a CRD, in place."""
    spec, status = crd["spec"], crd["status"]
    if kind := spec["names"]["kind"]:
        spec["names"].setdefault("singular", kind.lower())
        spec["names"].setdefault("listKind", f"{kind}List")
    spec.setdefault("conversion", {"strategy": "None"})
    if not status.get("storedVersions"):
        stored = [version["name"] for version in spec.get("versions") or () if version["storage"]]
        status["storedVersions"] = stored[:1] or None


def _initial_status(crd: Json, context: Context) -> Json:
    stored = crd["status"].get("storedVersions")
    return {"conditions": None, "acceptedNames": {"plural": "", "kind": ""}, "storedVersions": stored}


def crd_causes(crd: Json) -> Iterator[Cause]:
    """Check a CRD."""
    spec = crd["spec"]
    wanted = f"{spec['names']['plural']}.{spec['group']}"
    if (name := crd["metadata"].get("name", "")) != wanted:
        yield invalid("metadata.name", name, 'must be spec.names.plural+"."+spec.group')
    yield from _group_causes(spec["group"])
    if not (scope := spec["scope"]):
        yield required("spec.scope")
    elif scope not in SCOPES:
        yield not_supported("spec.scope", scope, SCOPES)
    versions = spec.get("versions") or []
    for index, version in enumerate(versions):
        path = f"spec.versions[{index}]"
        if complaints := names.label_1035(version["name"]):
            yield invalid(f"{path}.name", version["name"], ",".join(complaints))
            if index == 0:
                yield invalid("spec.version", version["name"], ",".join(complaints))
        if "schema" not in version or "openAPIV3Schema" not in version["schema"]:
            yield required(f"{path}.schema.openAPIV3Schema")
        elif len(versions) == 1:
            # The real server's internal form has what all versions share in one place.
            yield from _version_causes(version, "spec.validation.openAPIV3Schema", "spec")
        else:
            yield from _version_causes(version, f"{path}.schema.openAPIV3Schema", path)
    if len({version["name"] for version in versions}) < len(versions):
        yield invalid("spec.versions", versions, "must contain unique version names")
    if sum(version["storage"] for version in versions) != 1:
        yield invalid("spec.versions", versions, "must have exactly one version marked as storage version")
    yield from _names_causes(spec["names"])
    if spec["conversion"]["strategy"] == "Webhook":
        yield forbidden_value("spec.conversion.strategy", "conversion webhooks are not supported by this server")


def _group_causes(group: str) -> Iterator[Cause]:
    if not group:
        yield required("spec.group")
    elif complaints := names.subdomain(group):
        yield invalid("spec.group", group, ",".join(complaints))
    elif "." not in group:
        yield invalid("spec.group", group, "should be a domain with at least one dot")


def _names_causes(given: Json) -> Iterator[Cause]:
    path = "spec.names"
    for field in ("plural", "singular", "kind", "listKind"):
        if not given.get(field):
            yield required(f"{path}.{field}")
    for field in ("plural", "singular"):
        if (text := given.get(field)) and (complaints := names.label_1035(text)):
            yield invalid(f"{path}.{field}", text, ",".join(complaints))
    for field in ("kind", "listKind"):
        if (text := given.get(field)) and (complaints := names.label_1035(text.lower())):
            said = f"may have mixed case, but should otherwise match: {','.join(complaints)}"
            yield invalid(f"{path}.{field}", text, said)
    for field in ("shortNames", "categories"):
        for index, text in enumerate(given.get(field, ())):
            if complaints := names.label_1035(text):
                yield invalid(f"{path}.{field}[{index}]", text, ",".join(complaints))
    if given.get("kind") and given["kind"] == given.get("listKind"):
        yield invalid(f"{path}.listKind", given["listKind"], "kind and listKind may not be the same")


def _version_causes(version: Json, schema_path: str, path: str) -> Iterator[Cause]:
    yield from _root_causes(version["schema"]["openAPIV3Schema"], schema_path)
    for index, column in enumerate(version.get("additionalPrinterColumns", ())):
        yield from _column_causes(column, f"{path}.additionalPrinterColumns[{index}]")


def _column_causes(column: Json, path: str) -> Iterator[Cause]:
    if not column["name"]:
        yield required(f"{path}.name")
    said = f"must be one of {','.join(COLUMN_TYPES)}"
    if not column["type"]:
        yield required(f"{path}.type", said)
    elif column["type"] not in COLUMN_TYPES:
        yield invalid(f"{path}.type", column["type"], said)
    if not (text := column["jsonPath"]):
        yield required(f"{path}.JSONPath")
        return
    try:
        JsonPath(text)
    except PathError as error:
        yield invalid(f"{path}.JSONPath", text, f"is an invalid JSONPath: {error}")


def _root_causes(schema: Json, path: str) -> Iterator[Cause]:
    if (kind := schema.get("type")) != "object":
        if kind:
            yield invalid(f"{path}.type", kind, "must be object at the root")
        else:
            yield required(f"{path}.type", "must not be empty at the root")
    yield from _causes_below(msgspec.json.encode(schema), path)


@lru_cache(maxsize=64)
def _causes_below(schema: bytes, path: str) -> tuple[Cause, ...]:
    return tuple(_schema_causes(compiled_schema(schema), path))


def _schema_causes(level: Structural, path: str) -> Iterator[Cause]:
    """Check one level of a structural schema, and those below."""
    schema = level.schema
    kind = schema.get("type")
    if kind and kind not in SCHEMA_TYPES:
        yield not_supported(f"{path}.type", kind, SCHEMA_TYPES)
    if schema.get("x-kubernetes-int-or-string") and kind:
        yield invalid(f"{path}.type", kind, "must be empty if x-kubernetes-int-or-string is true")
    if schema.get("properties") and schema.get("additionalProperties"):
        said = "additionalProperties and properties are mutual exclusive"
        yield forbidden_value(f"{path}.additionalProperties", said)
    if schema.get("additionalProperties") is False:
        yield forbidden_value(f"{path}.additionalProperties", "additionalProperties cannot be set to false")
    if schema.get("uniqueItems"):
        yield forbidden_value(
            f"{path}.uniqueItems", "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        )
    if kind == "array" and "items" not in schema:
        yield required(f"{path}.items", "must be specified")
    try:
        compiled(schema.get("pattern", ""))
    except ValueError as error:
        said = f"must be a valid regular expression, but isn't: error parsing regexp: {error}"
        yield invalid(f"{path}.pattern", schema["pattern"], said)
    yield from _list_causes(schema, path)
    yield from _default_causes(level, path)
    yield from _rule_causes(level, path)
    for name, inner in level.properties.items():
        if not (path.endswith("openAPIV3Schema") and name in META_FIELDS):
            yield from _inner_causes(
                inner, f"{path}.properties[{name}]", "must not be empty for specified object fields"
            )
    for field, below, said in (
        ("additionalProperties", level.additional, "must not be empty for specified object fields"),
        ("items", level.items, "must not be empty for specified array items"),
    ):
        if below is not None:
            yield from _inner_causes(below, f"{path}.{field}", said)


def _inner_causes(level: Structural, path: str, missing: str) -> Iterator[Cause]:
    free = ("x-kubernetes-int-or-string", "x-kubernetes-preserve-unknown-fields")
    if not level.schema.get("type") and not any(level.schema.get(each) for each in free):
        yield required(f"{path}.type", missing)
    yield from _schema_causes(level, path)


def _list_causes(schema: Json, path: str) -> Iterator[Cause]:
    if (kind := schema.get("x-kubernetes-list-type")) is None:
        return
    if kind not in LIST_TYPES:
        yield not_supported(f"{path}.x-kubernetes-list-type", kind, LIST_TYPES)
    elif schema.get("type") != "array":
        said = "must be array if x-kubernetes-list-type is specified"
        yield invalid(f"{path}.type", schema.get("type", ""), said)
    elif kind == "map" and not schema.get("x-kubernetes-list-map-keys"):
        said = "must not be empty if x-kubernetes-list-type is map"
        yield required(f"{path}.x-kubernetes-list-map-keys", said)


def _default_causes(level: Structural, path: str) -> Iterator[Cause]:
    default: Any = level.schema.get("default")
    if default is None:
        return
    for cause in schema_causes(level, default):
        place = f"{path}.default{'.' + cause.field if cause.field else ''}"
        yield Cause(cause.reason, cause.message, place)


def _rule_causes(level: Structural, path: str) -> Iterator[Cause]:
    for index, rule in enumerate(level.schema.get("x-kubernetes-validations", ())):
        here = f"{path}.x-kubernetes-validations[{index}]"
        if not rule["rule"].strip():
            yield required(f"{here}.rule", "rule is not specified")
            continue
        try:
            compile_rule(rule, level)
        except FieldPathError as error:
            yield invalid(f"{here}.fieldPath", str(error), "must be a valid path")
        except CompileError as error:
            yield invalid(f"{here}.rule", rule["rule"], f"compilation failed: {error}")


def update_causes(old: Json, new: Json) -> Iterator[Cause]:
    """Check that an update keeps group and scope."""
    for field in ("group", "scope"):
        if old["spec"][field] != new["spec"][field]:
            yield invalid(f"spec.{field}", new["spec"][field], "field is immutable")
    for field in ("plural", "kind"):
        if old["spec"]["names"][field] != new["spec"]["names"][field]:
            yield invalid(f"spec.names.{field}", new["spec"]["names"][field], "field is immutable")


CRD_RULES = BuiltinRules(
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition",
    "v1",
    default=default_crd,
    initial_status=_initial_status,
    validate=crd_causes,
    validate_update=update_causes,
)
