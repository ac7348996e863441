"""Whether an object has the shape that the verbs rely on: lists where lists belong, texts where texts belong."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from training_api.constants import API_VERSION
from training_api.problems import Problem, ProblemKind
from training_api.registry import KINDS
from training_migration.masking import MASK

Shape = Any
"""A mapping of known fields (`*`: of all), a list with the shape of its entries, or one of the types below."""

TEXT: Final = str
NUMBER: Final = int
_WORDS: Final = {str: "text", int: "a number", dict: "a mapping", list: "a list"}

_TEXTS: Final = {"*": TEXT}
_FIELD: Final = {"fieldPath": TEXT}
_DOWNWARD: Final = {"items": [{"fieldRef": _FIELD}]}
_VARIABLE: Final = {"name": TEXT, "value": TEXT, "valueFrom": {"fieldRef": _FIELD}}
_RESOURCES: Final[Shape] = {"limits": {}, "requests": {}}
_CONTAINER: Final = {
    "name": TEXT,
    "image": TEXT,
    "command": [TEXT],
    "args": [TEXT],
    "env": [_VARIABLE],
    "ports": [{"name": TEXT, "containerPort": NUMBER}],
    "resources": _RESOURCES,
}
_POD: Final = {
    "containers": [_CONTAINER],
    "initContainers": [_CONTAINER],
    "volumes": [{"downwardAPI": _DOWNWARD, "projected": {"sources": [{"downwardAPI": _DOWNWARD}]}}],
}
_METADATA: Final = {"name": TEXT, "namespace": TEXT, "labels": _TEXTS, "annotations": _TEXTS}
_JOB_TEMPLATE: Final = {"metadata": _METADATA, "spec": {"parallelism": NUMBER, "template": {"spec": _POD}}}
_JOB_SET: Final = {
    "network": {"subdomain": TEXT},
    "replicatedJobs": [{"name": TEXT, "replicas": NUMBER, "template": _JOB_TEMPLATE}],
}
_TARGETS: Final = [{"jobName": TEXT, "containerNames": [TEXT]}]
_ML_POLICY: Final = {
    "numNodes": NUMBER,
    "torch": {"envInjection": {"targets": _TARGETS}},
    "mpi": {"numProcPerNode": NUMBER, "mpiImplementation": TEXT},
    "*": {},
}
_RUNTIME: Final = {"mlPolicy": _ML_POLICY, "podGroupPolicy": {}, "template": {"spec": _JOB_SET}}
_TRAIN_JOB: Final = {
    "runtimeRef": {"name": TEXT, "kind": TEXT},
    "trainer": {
        "command": [TEXT],
        "args": [TEXT],
        "env": [_VARIABLE],
        "numNodes": NUMBER,
        "resourcesPerNode": _RESOURCES,
    },
    "runtimePatches": [{"trainingRuntimeSpec": {"template": {"spec": _JOB_SET}}}],
}
_REPLICAS: Final = {"*": {"template": {"spec": _POD}}}
_SPECS: Final[Mapping[str, Shape]] = {
    "TrainJob": _TRAIN_JOB,
    "TrainingRuntime": _RUNTIME,
    "ClusterTrainingRuntime": _RUNTIME,
    "HorizontalPodAutoscaler": {"scaleTargetRef": {"apiVersion": TEXT, "kind": TEXT}},
    **{info.kind: {info.replica_field: _REPLICAS} for info in KINDS.values()},
}
_OTHERS: Final[Mapping[str, Shape]] = {
    "Role": {"rules": [{"apiGroups": [TEXT], "verbs": [TEXT]}]},
    "ClusterRole": {"rules": [{"apiGroups": [TEXT], "verbs": [TEXT]}]},
    "ConfigMap": {"data": _TEXTS},
}


_MAY_BE_SECRET: Final = re.compile(r"\.value$|(^|\.)(data|args|command|annotations)\b")
"""Paths whose values are the user's own: a password may be a number."""


def misfit(obj: Mapping[str, Any]) -> Problem | None:
    """The first field that has another type than it must have; None if there is none."""
    kind = obj.get("kind")
    shape = {"apiVersion": TEXT, "kind": TEXT, "metadata": _METADATA}
    if isinstance(kind, str):
        shape |= _OTHERS.get(kind, {})
        if kind in _SPECS and (kind not in KINDS or obj.get("apiVersion") == API_VERSION):
            shape["spec"] = _SPECS[kind]
    return next(_misfits(obj, shape, ""), None)


def _misfits(value: Any, shape: Shape, path: str) -> Iterator[Problem]:
    wanted: type = shape if isinstance(shape, type) else type(shape)
    if value is None:
        return
    if not isinstance(value, wanted) or (wanted is int and isinstance(value, bool)):
        shown = MASK if _MAY_BE_SECRET.search(path) else value
        yield Problem(path, ProblemKind.INVALID, f"must be {_WORDS[wanted]}", shown)
    elif isinstance(shape, dict) and isinstance(value, dict):
        for key, each in value.items():
            if (below := shape.get(key, shape.get("*"))) is not None:
                yield from _misfits(each, below, f"{path}.{key}" if path else str(key))
    elif isinstance(shape, list) and isinstance(value, list):
        for at, each in enumerate(value):
            if each is None:
                yield Problem(f"{path}[{at}]", ProblemKind.REQUIRED, "must not be null")
            yield from _misfits(each, shape[0], f"{path}[{at}]")
