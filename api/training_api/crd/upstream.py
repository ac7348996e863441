"""The schemas that Kubernetes itself defines and that stand inside ours: pod template and autoscaler metric.

They are taken from the OpenAPI documents of an API server and kept as `kubernetes.json` next to this module:

    kubectl get --raw /openapi/v3/api/v1 > core.json
    kubectl get --raw /openapi/v3/apis/autoscaling/v2 > autoscaling.json
    python -m training_api.crd.upstream core.json autoscaling.json
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

Schema = dict[str, Any]

DATA = Path(__file__).with_name("kubernetes.json")
TYPES = {"PodTemplateSpec": "io.k8s.api.core.v1.PodTemplateSpec", "MetricSpec": "io.k8s.api.autoscaling.v2.MetricSpec"}
"""Name in the data file -> name in the OpenAPI documents."""

EMBEDDED_METADATA = ("annotations", "finalizers", "labels", "name", "namespace")
"""What the metadata of a template may hold."""

INT_OR_STRING: Schema = {"anyOf": [{"type": "integer"}, {"type": "string"}], "x-kubernetes-int-or-string": True}
QUANTITY_PATTERN = (
    r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))"
    r"(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$"
)
QUANTITY: Schema = {**INT_OR_STRING, "pattern": QUANTITY_PATTERN}
SPECIAL = {
    "io.k8s.apimachinery.pkg.api.resource.Quantity": QUANTITY,
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": INT_OR_STRING,
}

KEPT = ("type", "format", "required", "x-kubernetes-list-map-keys", "x-kubernetes-list-type", "x-kubernetes-map-type")
"""What is taken over as it is. Enumerations are not: a newer Kubernetes may add values, not to be rejected here."""


@cache
def upstream_schemas() -> Mapping[str, Schema]:
    """The kept schemas by the names of `TYPES`."""
    schemas: Mapping[str, Schema] = json.loads(DATA.read_text())
    return schemas


def render(documents: Sequence[Mapping[str, Any]]) -> str:
    """The text of the data file, made from OpenAPI v3 documents that together define all `TYPES`."""
    definitions = {name: schema for document in documents for name, schema in document["components"]["schemas"].items()}
    schemas = {name: _structural({"$ref": reference}, definitions) for name, reference in TYPES.items()}
    return json.dumps(schemas, sort_keys=True, separators=(",", ":")) + "\n"


def _structural(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> Schema:
    """The schema without references, descriptions and defaults, in the form that CRDs demand."""
    if "allOf" in schema:  # a reference with a description or a default next to it
        return _structural(schema["allOf"][0], definitions)
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        if name in SPECIAL:
            return SPECIAL[name]
        result = _structural(definitions[name], definitions)
        if name.endswith(".ObjectMeta"):
            result["properties"] = {field: result["properties"][field] for field in EMBEDDED_METADATA}
        return result
    result = {key: schema[key] for key in KEPT if key in schema}
    if "properties" in schema:
        result["properties"] = {name: _structural(value, definitions) for name, value in schema["properties"].items()}
    for inner in ("items", "additionalProperties"):
        if inner in schema:
            result[inner] = _structural(schema[inner], definitions)
    for key in schema.get("x-kubernetes-list-map-keys", ()):
        _keep_default_of_key(key, result["items"], schema["items"], definitions)
    return result


def _keep_default_of_key(key: str, result: Schema, item: Mapping[str, Any], definitions: Mapping[str, Any]) -> None:
    """An optional key of a keyed list needs its default (the protocol of a port); the pod gets the others anyway."""
    if key not in result.get("required", ()):
        definition = definitions[item["allOf"][0]["$ref"].rpartition("/")[2]]
        result["properties"][key]["default"] = definition["properties"][key]["default"]


def main(arguments: Sequence[str]) -> None:
    """Write the data file from two OpenAPI documents."""
    parser = argparse.ArgumentParser(prog="python -m training_api.crd.upstream", description="Refresh the data file.")
    parser.add_argument("documents", nargs=2, type=Path, help="the documents of api/v1 and of apis/autoscaling/v2")
    options = parser.parse_args(arguments)
    try:
        DATA.write_text(render([json.loads(path.read_text()) for path in options.documents]))
    except (OSError, ValueError, KeyError) as error:
        parser.error(f"no OpenAPI v3 documents with {' and '.join(TYPES)}: {error!r}")


if __name__ == "__main__":
    main(sys.argv[1:])
