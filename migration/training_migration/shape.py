"""Whether an object has the shape that the verbs rely on: lists where lists belong, texts where texts belong.

Pods are held against Kubernetes' own schema, as in the CRDs of v1; of v2's CRDs those fields are known here that
some verb reads. A field that is null is taken for one that is not there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Final

from training_api.constants import API_VERSION
from training_api.crd.upstream import INT_OR_STRING, QUANTITY, upstream_schemas
from training_api.problems import Problem, ProblemKind
from training_controllers.frameworks.plugins import kinds
from training_migration.masking import MASK

Json = dict[str, Any]
Shape = Any
"""A mapping of known fields (`*`: of all others, `name!`: one that must be there), a list with the shape of its
entries, a type, or a `Schema`."""


class Schema(dict[str, Any]):
    """A structural schema of Kubernetes."""


TEXT: Final = str
NUMBER: Final = int
FLAG: Final = bool
_TYPES: Final[Mapping[type, str]] = {str: "string", int: "integer", bool: "boolean", dict: "object", list: "array"}
_WORDS: Final = {
    "string": "text", "integer": "a number", "number": "a number", "boolean": "true or false", "object": "a mapping",
    "array": "a list",
}  # fmt: skip
_CLASSES: Final[Mapping[str, tuple[type, ...]]] = {
    "string": (str,), "integer": (int,), "number": (int, float), "boolean": (bool,), "object": (dict,), "array": (list,)
}  # fmt: skip
_BITS: Final = {"int32": 31, "int64": 63}


def _schema(shape: Shape) -> Json:
    if isinstance(shape, Schema):
        return shape
    if isinstance(shape, type):
        return {"type": _TYPES[shape]}
    if isinstance(shape, list):
        return {"type": "array", "items": _schema(shape[0])}
    properties = {name.removesuffix("!"): _schema(each) for name, each in shape.items() if name != "*"}
    schema = {"type": "object", "properties": properties, "required": [name[:-1] for name in shape if name[-1] == "!"]}
    return {**schema, "additionalProperties": _schema(shape["*"])} if "*" in shape else schema


def _optional(schema: Json) -> Json:
    """The same of a patch: nothing is required but what entries of lists are merged by."""
    changed: Json = {"required": [name for name in schema.get("required", ()) if name in ("name", "mountPath")]}
    if "properties" in schema:
        changed["properties"] = {name: _optional(each) for name, each in schema["properties"].items()}
    if "items" in schema:
        changed["items"] = _optional(schema["items"])
    return {**schema, **changed}


_TEXTS: Final = {"*": TEXT}
_QUANTITIES: Final = {"*": Schema(QUANTITY)}
_RESOURCES: Final = {"limits": _QUANTITIES, "requests": _QUANTITIES}
_TEMPLATE_METADATA: Final = {"name": TEXT, "namespace": TEXT, "labels": _TEXTS, "annotations": _TEXTS}
_METADATA: Final = {**_TEMPLATE_METADATA, "generateName": TEXT}
_POD: Final = Schema(upstream_schemas()["PodTemplateSpec"])
_ENV: Final = Schema(_POD["properties"]["spec"]["properties"]["containers"]["items"]["properties"]["env"])


def _job_set(pod: Schema, **job_template: Shape) -> Shape:
    job = {
        "parallelism": NUMBER,
        "completions": NUMBER,
        "backoffLimit": NUMBER,
        "backoffLimitPerIndex": NUMBER,
        "activeDeadlineSeconds": NUMBER,
        "ttlSecondsAfterFinished": NUMBER,
        "completionMode": TEXT,
        "podFailurePolicy": {"rules": [{}]},
        "successPolicy": {"rules": [{}]},
        "template": pod,
    }
    template = {"metadata": _TEMPLATE_METADATA, "spec": job}
    return {
        "network": {"subdomain": TEXT},
        "replicatedJobs": [
            {
                "name!": TEXT,
                "groupName": TEXT,
                "replicas": NUMBER,
                "dependsOn": [{"name!": TEXT, "status!": TEXT}],
                "template": template,
                **job_template,
            }
        ],
        "successPolicy": {"operator": TEXT, "targetReplicatedJobs": [TEXT]},
        "failurePolicy": {"maxRestarts": NUMBER, "rules": [{}]},
        "startupPolicy": {},
        "volumeClaimPolicies": [{"templates": [{"metadata": _TEMPLATE_METADATA, "spec!": {"resources": _RESOURCES}}]}],
    }


_PATCHED_JOB_SET: Final = _job_set(Schema(_optional(_POD)))
_RUNTIME: Final = {
    "mlPolicy": {
        "numNodes": NUMBER,
        "torch": {
            "numProcPerNode": Schema(INT_OR_STRING),
            "envInjection": {"targets": [{"jobName!": TEXT, "containerNames!": [TEXT]}]},
        },
        "mpi": {
            "numProcPerNode": NUMBER,
            "mpiImplementation": TEXT,
            "sshAuthMountPath": TEXT,
            "runLauncherAsNode": FLAG,
        },
        "*": {},
    },
    "podGroupPolicy": {
        "coscheduling": {"scheduleTimeoutSeconds": NUMBER},
        "volcano": {"networkTopology": {"mode": TEXT, "highestTierAllowed": NUMBER}},
    },
    "template": {"metadata": _TEMPLATE_METADATA, "spec": _job_set(_POD)},
}
_INITIALIZER: Final = {"env": _ENV, "secretRef": {"name": TEXT}, "storageUri": TEXT}
_TRAIN_JOB: Final = {
    "runtimeRef": {"name": TEXT, "kind": TEXT, "apiGroup": TEXT},
    "suspend": FLAG,
    "managedBy": TEXT,
    "activeDeadlineSeconds": NUMBER,
    "labels": _TEXTS,
    "annotations": _TEXTS,
    "initializer": {"dataset": _INITIALIZER, "model": _INITIALIZER},
    "trainer": {
        "image": TEXT,
        "command": [TEXT],
        "args": [TEXT],
        "env": _ENV,
        "numNodes": NUMBER,
        "numProcPerNode": Schema(INT_OR_STRING),
        "resourcesPerNode": _RESOURCES,
    },
    "runtimePatches": [
        {
            "manager": TEXT,
            "trainingRuntimeSpec": {"template": {"metadata": _TEMPLATE_METADATA, "spec": _PATCHED_JOB_SET}},
        }
    ],
    "podSpecOverrides": [{}],
    "podTemplateOverrides": [{}],
}
_SPECS: Final[Mapping[str, Shape]] = {
    "TrainJob": _TRAIN_JOB,
    "TrainingRuntime": _RUNTIME,
    "ClusterTrainingRuntime": _RUNTIME,
}
_OTHERS: Final[Mapping[str, Shape]] = {
    "HorizontalPodAutoscaler": {"spec": {"scaleTargetRef": {"apiVersion": TEXT, "kind": TEXT}}},
    "Role": {"rules": [{"apiGroups": [TEXT], "verbs": [TEXT]}]},
    "ClusterRole": {"rules": [{"apiGroups": [TEXT], "verbs": [TEXT]}]},
    "ConfigMap": {"data": _TEXTS},
}


@cache
def _schema_of(kind: str, replica_field: str) -> Json:
    """Of objects of a kind; those with a field for replicas are jobs of v1."""
    shape = {"apiVersion": TEXT, "kind": TEXT, "metadata": _METADATA, **_OTHERS.get(kind, {})}
    if spec := {replica_field: {"*": {"template": _POD}}} if replica_field else _SPECS.get(kind):
        shape |= {"metadata!": {**_METADATA, "name!": TEXT}, "spec!": spec}
    return _schema(shape)


_MAY_BE_SECRET: Final = re.compile(r"\.value$|(^|\.)(data|args|command|annotations)\b")
"""Paths whose values are the user's own: a password may be a number."""


def misfit(obj: Mapping[str, Any]) -> Problem | None:
    """The first field that has another type than it must have, or that is missing; None if there is none."""
    kind = obj.get("kind")
    name = kind if isinstance(kind, str) else ""
    info = kinds().get(name) if obj.get("apiVersion") == API_VERSION else None
    return next(_misfits(obj, _schema_of(name, info.replica_field if info else ""), ""), None)


def misfit_of(value: Any, shape: Shape) -> Problem | None:
    """The same of any value and shape."""
    return next(_misfits(value, _schema(shape), ""), None)


def _misfits(value: Any, schema: Json, path: str) -> Iterator[Problem]:
    if value is None:
        return
    if wanted := _wanted(value, schema):
        yield Problem(
            path or "all of it",
            ProblemKind.INVALID,
            f"must be {wanted}",
            MASK if _MAY_BE_SECRET.search(path) else value,
        )
    elif isinstance(value, dict):
        for name in schema.get("required", ()):
            if value.get(name) is None:
                yield Problem(_below(path, name), ProblemKind.REQUIRED, "must be there")
        known, others = schema.get("properties", {}), schema.get("additionalProperties")
        for key, each in value.items():
            if (below := known.get(key, others)) is not None:
                yield from _misfits(each, below, _below(path, key))
    elif isinstance(value, list):
        for at, each in enumerate(value):
            if each is None:
                yield Problem(f"{path}[{at}]", ProblemKind.REQUIRED, "must not be null")
            yield from _misfits(each, schema.get("items", {}), f"{path}[{at}]")


def _wanted(value: Any, schema: Json) -> str:
    """What should be there instead, in words; empty if this is right."""
    if schema.get("x-kubernetes-int-or-string"):
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            return "a number or text"
        return "a quantity, as 1, 500m or 2Gi" if not _matches(schema.get("pattern", ""), str(value)) else ""
    kind = schema.get("type", "")
    if kind and (not isinstance(value, _CLASSES[kind]) or (isinstance(value, bool) and kind != "boolean")):
        return _WORDS[kind]
    bits = _BITS.get(schema.get("format", "int64"))
    if isinstance(value, int) and bits and not -(2**bits) <= value < 2**bits:
        return f"a number of {bits + 1} bits"
    return ""


def _matches(pattern: str, text: str) -> bool:
    return re.search(pattern, text) is not None


def _below(path: str, key: object) -> str:
    return f"{path}.{key}" if path else str(key)


def without_nulls(given: Any) -> Any:
    """As the API server stores it: a field that is null is not there ("defaulting and nullable" of CRDs)."""
    if isinstance(given, dict):
        return {name: without_nulls(each) for name, each in given.items() if each is not None}
    return [without_nulls(each) for each in given] if isinstance(given, list) else given
