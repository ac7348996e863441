"""Generate the schemas of the builtin types of the embedded API server from the pinned Kubernetes modules.

    python -m e2e.tools.kubernetes_schemas            rewrite the data file
    python -m e2e.tools.kubernetes_schemas --check    exit status 1 if it is not current

Two sources are joined: the OpenAPI documents that Kubernetes serves say what there is, and the Go declarations say
what OpenAPI leaves out: whether an empty value is kept (pointers, fields without `omitempty`) and the names of Go types
that stand in error texts. Descriptions are left out.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from e2e.support.paths import ROOT

Schema = dict[str, Any]

MODULE = ROOT / "e2e" / "harness" / "modules" / "kubernetes"
TARGET = ROOT / "local" / "training_local" / "apiserver" / "builtin" / "kubernetes.json"

KINDS = {
    "api__v1": (
        "Pod Service Namespace ConfigMap Secret ServiceAccount Event Node PersistentVolumeClaim ResourceQuota "
        "LimitRange Binding"
    ),
    "apis__apiextensions.k8s.io__v1": "CustomResourceDefinition",
    "apis__autoscaling__v1": "Scale",
    "apis__autoscaling__v2": "HorizontalPodAutoscaler",
    "apis__coordination.k8s.io__v1": "Lease",
    "apis__events.k8s.io__v1": "Event",
    "apis__policy__v1": "Eviction",
    "apis__rbac.authorization.k8s.io__v1": "Role RoleBinding ClusterRole ClusterRoleBinding",
    "apis__scheduling.k8s.io__v1": "PriorityClass",
}
"""OpenAPI document -> kinds taken from it, with everything that they refer to."""

LISTS = ("allOf", "anyOf", "oneOf")
GO_SCALARS = {"boolean": "bool", "number": "float64", "string": "string"}
STRUCT = re.compile(r"^type (\w+) struct \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
FIELD = re.compile(r'^\t(?:(\w+)\s+)?(\S+)\s+`json:"([^",]*)((?:,\w+)*)"', re.MULTILINE)


@cache
def module_folder(path: str) -> Path:
    """Where the sources of a Go module lie."""
    command = ["go", "list", "-m", "-f", "{{.Dir}}", path]
    return Path(subprocess.run(command, cwd=MODULE, capture_output=True, text=True, check=True).stdout.strip())


def parts(schema: Schema, change: Callable[[Schema], Schema]) -> Schema:
    """Rebuild a schema without its description, with `change` applied to the schemas directly inside it."""
    built: Schema = {}
    for key, value in schema.items():
        if key == "properties":
            built[key] = {name: change(inner) for name, inner in value.items()}
        elif key in ("items", "additionalProperties") and isinstance(value, dict):
            built[key] = change(value)
        elif key in LISTS:
            built[key] = [change(inner) for inner in value]
        elif key != "description":
            built[key] = value
    return built


def compact(schema: Schema) -> Schema:
    """Drop descriptions and defaults, and write a reference as `{"$ref": NAME}`."""
    built = parts(schema, compact)
    built.pop("default", None)
    wrapped = built.get("allOf", [])
    if len(wrapped) == 1 and "$ref" in wrapped[0]:
        built.pop("allOf")
        built = {**wrapped[0], **built}
    if "$ref" in built:
        built["$ref"] = built["$ref"].rpartition("/")[2]
    return built


def references(schema: Schema) -> Iterator[str]:
    """Name the components that a compact schema refers to."""
    found: list[str] = []

    def visit(inner: Schema) -> Schema:
        if "$ref" in inner:
            found.append(inner["$ref"])
        return parts(inner, visit)

    visit(schema)
    yield from found


def components() -> dict[str, Schema]:
    """Read the wanted kinds and all that they refer to."""
    folder = module_folder("k8s.io/kubernetes") / "api" / "openapi-spec" / "v3"
    taken: dict[str, Schema] = {}
    for document, kinds in KINDS.items():
        known = json.loads((folder / f"{document}_openapi.json").read_text())["components"]["schemas"]
        todo = [
            name
            for name, schema in known.items()
            if name.rsplit(".", 1)[1] in kinds.split() and "x-kubernetes-group-version-kind" in schema
        ]
        while todo:
            if (name := todo.pop()) not in taken:
                taken[name] = compact(known[name])
                todo += references(taken[name])
    return taken


@cache
def go_package(package: str) -> dict[str, str]:
    """The bodies of the struct declarations of a package named in OpenAPI's way (`io.k8s.api.core.v1`)."""
    path = package.removeprefix("io.k8s.").replace(".", "/")
    module, _, below = path.partition("/")
    folder = module_folder(f"k8s.io/{module}") / below
    files = (file for file in sorted(folder.glob("*.go")) if not file.name.endswith("_test.go"))
    return {name: body for file in files for name, body in STRUCT.findall(file.read_text())}


def go_fields(package: str, struct: str) -> Iterator[tuple[str, str, bool]]:
    """Name the fields of a struct as on the wire, their Go types, and whether they are left out when empty."""
    for name, go_type, wire, options in FIELD.findall(go_package(package)[struct]):
        if "inline" in options and "TypeMeta" not in go_type:
            yield from go_fields(package, go_type.rsplit(".", 1)[-1])
        elif wire and wire != "-":
            # A struct with `omitzero` vanishes when empty, just as a pointer does.
            yield wire, f"*{go_type}" if "omitzero" in options else go_type, "omitempty" in options
        elif not wire and not name and "TypeMeta" not in go_type:
            yield from go_fields(package, go_type.rsplit(".", 1)[-1])


def expected_go_type(schema: Schema) -> str:
    """The Go type that a reader of the schema alone would assume."""
    if "$ref" in schema:
        return f"*{schema['$ref'].rsplit('.', 1)[1]}"
    kind = schema.get("type", "")
    if kind == "array":
        return "[]" + expected_go_type(schema["items"]).removeprefix("*")
    if kind == "object":
        return "map[string]" + expected_go_type(schema.get("additionalProperties", {})).removeprefix("*")
    return str(schema.get("format")) if kind == "integer" else GO_SCALARS.get(kind, "")


def go_differences(component: str, schema: Schema) -> dict[str, str]:
    """Go types of the fields whose schema alone would mislead; a final `!` says: written even when empty."""
    package, _, struct = component.rpartition(".")
    properties, required = schema.get("properties", {}), schema.get("required", ())
    told: dict[str, str] = {}
    if not properties:
        return told
    for wire, go_type, omits in go_fields(package, struct):
        if wire not in properties:
            continue
        plain = re.sub(r"\b(?:metav1|v1|runtime|types|resource|intstr|apiextensionsv1)\.", "", go_type)
        mark = "" if omits else "!"
        if plain != expected_go_type(properties[wire]) or (mark == "!") != (wire in required):
            told[wire] = plain + mark
    return told


def generate() -> str:
    """Build the text of the data file."""
    schemas = components()
    version = module_folder("k8s.io/kubernetes").name.rpartition("@")[2]
    differences = {name: told for name, schema in schemas.items() if (told := go_differences(name, schema))}
    return (
        json.dumps(
            {"kubernetes": version, "schemas": schemas, "go": differences}, sort_keys=True, separators=(",", ":")
        ).replace('},"io.', '},\n"io.')
        + "\n"
    )


def main(arguments: list[str]) -> int:
    """Write the data file, or compare it."""
    text = generate()
    if arguments == ["--check"]:
        return 0 if TARGET.exists() and TARGET.read_text() == text else 1
    TARGET.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
