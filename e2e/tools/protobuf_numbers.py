"""Generate the protobuf numbers of the builtin types' fields from the pinned Kubernetes modules.

    python -m e2e.tools.protobuf_numbers            rewrite the data file
    python -m e2e.tools.protobuf_numbers --check    exit status 1 if it is not current

The Go declarations say it in their field tags. A field is written as `[JSON name, type]`: the type is a scalar, the
name of another message, or one of both after `[]` or `map:`; an empty JSON name means that the message is inlined.
"""

from __future__ import annotations

import json
import re
import sys
from functools import cache
from pathlib import Path

from e2e.support.paths import ROOT
from e2e.tools.kubernetes_schemas import module_folder

TARGET = ROOT / "local" / "training_local" / "apiserver" / "builtin" / "protobuf.json"

KINDS = {
    "api/core/v1": (
        "Pod Service Namespace ConfigMap Secret ServiceAccount Event Node PersistentVolumeClaim ResourceQuota "
        "LimitRange Binding"
    ),
    "api/authentication/v1": "SelfSubjectReview",
    "api/authorization/v1": "SelfSubjectAccessReview SelfSubjectRulesReview",
    "api/autoscaling/v1": "Scale",
    "api/autoscaling/v2": "HorizontalPodAutoscaler",
    "api/coordination/v1": "Lease",
    "api/events/v1": "Event",
    "api/policy/v1": "Eviction",
    "api/rbac/v1": "Role RoleBinding ClusterRole ClusterRoleBinding",
    "api/scheduling/v1": "PriorityClass",
    "apimachinery/pkg/apis/meta/v1": "DeleteOptions",
}
"""Go package below k8s.io -> messages taken from it, with everything that they refer to."""

SPECIAL = {
    "apimachinery/pkg/apis/meta/v1.Time": "time",
    "apimachinery/pkg/apis/meta/v1.MicroTime": "micro-time",
    "apimachinery/pkg/apis/meta/v1.Duration": "duration",
    "apimachinery/pkg/apis/meta/v1.FieldsV1": "bytes",
    "apimachinery/pkg/api/resource.Quantity": "quantity",
    "apimachinery/pkg/util/intstr.IntOrString": "int-or-string",
    "apimachinery/pkg/runtime.RawExtension": "bytes",
    "apimachinery/pkg/types.UID": "string",
}
SCALARS = {
    "[]byte": "bytes",
    "string": "string",
    "bool": "bool",
    "int": "int",
    "int32": "int",
    "int64": "int",
    "float64": "double",
}
STRUCT = re.compile(r"^type (\w+) struct \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
ALIAS = re.compile(r"^(?:type |\t)(\w+)\s+(string|bool|int32|int64|\[\]\S+|map\[\S+)$", re.MULTILINE)
IMPORT = re.compile(r'^\t(?:(\w+) )?"k8s\.io/((?:api|apimachinery)/[\w/.]+)"', re.MULTILINE)
FIELD = re.compile(r'^\t(?:(\w+)\s+)?(\S+)\s+`json:"([^",]*)[^`]*protobuf:"\w+,(\d+),', re.MULTILINE)

Message = dict[str, list[str]]


class Package:
    """The declarations of one Go package."""

    def __init__(self, path: str) -> None:
        module, _, inside = path.partition("/")
        self.path = path
        self.structs: dict[str, str] = {}
        self.aliases: dict[str, str] = {}
        self.imports: dict[str, str] = {}
        for file in sorted((module_folder(f"k8s.io/{module}") / inside).glob("*.go")):
            if not file.name.endswith("_test.go") and "generated" not in file.name:
                self._read(file)

    def _read(self, file: Path) -> None:
        text = re.sub(r"/\*.*?\*/|//[^\n]*", "", file.read_text(), flags=re.DOTALL)
        text = re.sub(r"[ \t]+$", "", text, flags=re.MULTILINE)
        self.structs |= dict(STRUCT.findall(text))
        self.aliases |= {name: meaning for name, meaning in ALIAS.findall(text) if name not in self.structs}
        self.imports |= {alias or path.rpartition("/")[2]: path for alias, path in IMPORT.findall(text)}


package = cache(Package)


def meaning(expression: str, home: Package) -> str:
    """Return the type of a field that a Go type expression means."""
    expression = expression.lstrip("*")
    if scalar := SCALARS.get(expression):
        return scalar
    if expression.startswith("[]"):
        return f"[]{meaning(expression[2:], home)}"
    if expression.startswith("map["):
        return f"map:{meaning(expression.partition(']')[2], home)}"
    alias, dot, name = expression.rpartition(".")
    there = package(home.imports[alias]) if dot else home
    if name in there.structs or f"{there.path}.{name}" in SPECIAL:
        return SPECIAL.get(f"{there.path}.{name}", f"{there.path}.{name}")
    return meaning(there.aliases[name], there)


def message(reference: str) -> Message:
    """Return the fields of a message by their numbers."""
    path, _, name = reference.rpartition(".")
    home = package(path)
    return {
        number: [json_name, meaning(expression, home)]
        for _, expression, json_name, number in FIELD.findall(home.structs[name])
    }


def generate() -> str:
    """The text of the data file."""
    messages: dict[str, Message] = {}
    waiting = [f"{path}.{name}" for path, names in KINDS.items() for name in names.split()]
    while waiting:
        reference = waiting.pop()
        if reference in messages:
            continue
        messages[reference] = message(reference)
        types = (type.removeprefix("[]").removeprefix("map:") for _, type in messages[reference].values())
        waiting += [type for type in types if "/" in type]
    lines = (f"{json.dumps(name)}: {json.dumps(messages[name])}" for name in sorted(messages))
    return "{\n" + ",\n".join(lines) + "\n}\n"


def main() -> int:
    """Write the data file, or check it."""
    if "--check" in sys.argv[1:]:
        return int(not TARGET.exists() or TARGET.read_text() != generate())
    TARGET.write_text(generate())
    return 0


if __name__ == "__main__":
    sys.exit(main())
