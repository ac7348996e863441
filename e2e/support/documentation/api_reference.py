"""The API reference: from the models, whose docstrings are the descriptions, and from the rules in the definitions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any, Final

from e2e.support.documentation.table import code, table

from training_api.constants import API_VERSION
from training_api.crd.build import build
from training_api.decode import decode_job
from training_api.defaults import with_defaults
from training_api.kinds import KindInfo
from training_api.models.common import (
    ApiModel,
    CleanPodPolicy,
    ConditionStatus,
    ConditionType,
    JobCondition,
    JobStatus,
    ReplicaSpec,
    ReplicaStatus,
    RestartPolicy,
    RunPolicy,
    SchedulingPolicy,
    Waiting,
)
from training_api.models.elastic import ElasticPolicy
from training_api.models.pytorch import PyTorchElasticPolicy, RendezvousSetting
from training_api.registry import JAX

Schema = Mapping[str, Any]

TYPES: Final[tuple[type[ApiModel], ...]] = (
    ReplicaSpec,
    RunPolicy,
    SchedulingPolicy,
    PyTorchElasticPolicy,
    RendezvousSetting,
    ElasticPolicy,
    JobStatus,
    JobCondition,
    ReplicaStatus,
    Waiting,
)
WORDS: Final[tuple[type[StrEnum], ...]] = (RestartPolicy, CleanPodPolicy, ConditionType, ConditionStatus)
TYPE_NAMES: Final = {
    "PodTemplateSpec": "pod template (core/v1)",
    "MetricSpec": "metric (autoscaling/v2)",
    "quantity": "quantity",
    "date-time": "time",
}
"""Types of Kubernetes and formats, in words."""
FIELDS: Final = ("field", "type", "default", "limits", "description")
LITERAL: Final = re.compile(r"'((?:[^'\\]|\\.)*)'")


def kind_reference(info: KindInfo) -> str:
    """One kind: its names, its spec, its replica types, and what is rejected."""
    names = [("resource", code(f"{info.plural}.kubeflow.org")), ("short name", ", ".join(map(code, info.short_names)))]
    names += [("scale subresource", "the number of workers" if info.scalable else "none")]
    if info.services:
        names += [("main container, named", code(info.container)), ("its port", f"{code(info.port_name)}, {info.port}")]
    else:
        names += [("main container", "the first one, of any name")]
    names += [("`restartPolicy` where it is absent", code(info.restart_policy))]
    defaults = _spec_defaults(info)
    spec = build(info)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    parts = [
        table(("", ""), names),
        _description(info.spec.model_json_schema()),
        table(FIELDS, _fields(info.spec, {"properties": spec["properties"]}, defaults)),
        "Replica types:",
        table(("type", "replicas where absent", "limits"), _replica_types(info)),
        "Also rejected:",
        "\n".join(f"- {text}" for text in _rejections(info)),
    ]
    return "\n\n".join(parts)


def type_reference() -> str:
    """The types that kinds share, in the order in which a reader meets them, then the words that fields may hold."""
    parts = []
    for model in TYPES:
        parts += [f"### {model.__name__}", _description(model.model_json_schema())]
        parts += [table(FIELDS, _fields(model, _in_definition(model), {}))]
    for words in WORDS:
        parts += [f"### {words.__name__}", " ".join((words.__doc__ or "").split())]
        parts += [", ".join(code(word) for word in words)]
    return "\n\n".join(parts)


def _description(schema: Schema) -> str:
    return " ".join(str(schema["description"]).split("\n\n")[0].split())


def _spec_defaults(info: KindInfo) -> Mapping[str, Any]:
    """What the defaults make of a job that gives nothing but its replicas, by field."""
    container = {"name": info.container, "image": "image"}
    types = info.required_types or ("Worker",)
    job = with_defaults(
        decode_job(
            info,
            {
                "apiVersion": API_VERSION,
                "kind": info.kind,
                "metadata": {"name": "job", "namespace": "default"},
                "spec": {
                    info.replica_field: {name: {"template": {"spec": {"containers": [container]}}} for name in types}
                },
            },
        )
    )
    values = job.spec.model_dump(by_alias=True, exclude_none=True, mode="json")
    return {name: value for name, value in values.items() if isinstance(value, str | int)}


def _in_definition(model: type[ApiModel]) -> Schema:
    """Where the definitions have the rules of a type; empty for one without any."""
    spec = build(JAX)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    places: Mapping[type[ApiModel], Schema] = {
        ReplicaSpec: spec[JAX.replica_field]["additionalProperties"],
        RunPolicy: spec["runPolicy"],
        SchedulingPolicy: spec["runPolicy"]["properties"]["schedulingPolicy"],
    }
    return places.get(model, {})


def _fields(model: type[ApiModel], definition: Schema, defaults: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    schema = model.model_json_schema()
    for name, field in schema["properties"].items():
        given = defaults.get(name, field.get("default"))
        default = "" if given in (None, "", {}, []) else code(str(given).lower() if isinstance(given, bool) else given)
        if name in schema.get("required", ()):
            default = "required"
        limits = "; ".join(_limits(name, definition))
        yield code(name), _type(field), default, limits, " ".join(field["description"].split())


def _type(field: Schema) -> str:
    """The type of a field in words, with a link if it has a section of its own."""
    if known := TYPE_NAMES.get(field.get("upstream") or field.get("format", "")):
        return known
    if alternatives := [each for each in field.get("anyOf", ()) if each.get("type") != "null"]:
        return _type({**alternatives[0], **({"enum": field["enum"]} if "enum" in field else {})})
    for inner, words in (("items", "list of"), ("additionalProperties", "map of")):
        if isinstance(field.get(inner), Mapping):
            return f"{words} {_type(field[inner])}"
    if "$ref" in field:
        name = field["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "enum" in field:
        return " or ".join(code(word) for word in field["enum"])
    return str(field.get("format") or field["type"])


def _limits(name: str, definition: Schema) -> Iterator[str]:
    """What the definition demands of a field."""
    field = definition.get("properties", {}).get(name, {})
    of_field = [rule for rule in field.get("x-kubernetes-validations", ()) if "fieldPath" not in rule]
    of_type = [rule for rule in definition.get("x-kubernetes-validations", ()) if rule.get("fieldPath") == f".{name}"]
    for rule in (*of_field, *of_type):
        yield _message(rule)
    if "maxProperties" in field:
        yield f"at most {field['maxProperties']} entries"


def _replica_types(info: KindInfo) -> Iterator[tuple[str, str, str]]:
    for name in info.replica_types:
        found = {
            "required": name in info.required_types,
            "exactly 1 replica": name in info.single_types,
            "at least 1 replica": name in info.populated_types,
        }
        yield code(name), str(info.default_count(name)), ", ".join(text for text, holds in found.items() if holds)
    if info.other_types:
        yield "any other", "1", "runs, and does not influence the status"


def _rejections(info: KindInfo) -> Iterator[str]:
    """The messages of the rules about jobs and specs of a kind, with `…` for what depends on the job."""
    schema = build(info)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    spec = schema["properties"]["spec"]
    replicas = spec["properties"][info.replica_field]["additionalProperties"]
    containers = replicas["properties"]["template"]["properties"]["spec"]["properties"]["containers"]
    places = (
        ("", schema),
        (".spec", spec),
        (f".spec.{info.replica_field}.*", replicas),
        (f".spec.{info.replica_field}.*.template.spec.containers.*", containers["items"]),
    )
    for path, place in places:
        for rule in place.get("x-kubernetes-validations", ()):
            yield f"{code(path + rule.get('fieldPath', ''))}: {_message(rule)}"


def _message(rule: Schema) -> str:
    if "message" in rule:
        return str(rule["message"])
    literals = [text for text in LITERAL.findall(rule["messageExpression"]) if not text.startswith("(?i)")]
    return "…".join(text.replace("\\'", "'") for text in literals)
