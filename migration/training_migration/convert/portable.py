"""What a TrainJob can say itself of the pods of a runtime, entry by entry, and what is left for the runtime.

A TrainJob has a trainer (image, command, arguments, variables, resources, number of nodes) and, from 2.2 on, patches
of a few fields of pods.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from training_api.constants import EXTENSION_PREFIX
from training_migration.convert.context import Json
from training_migration.lint.variables import V1_VARIABLES
from training_migration.targets import FEATURES, Target
from training_migration.v2.names import ANCESTOR, TRAINER

MANAGER: Final = EXTENSION_PREFIX + "migration"
"""Who the patches of a TrainJob are from."""
PATCHES: Final = "runtimePatches"
Entry = tuple[str, str]
"""A field, and the entry of it where the field is a list by names or a mapping; else nothing."""
_BY_NAME: Final = {"volumes": "name"}
_MAPS: Final = ("nodeSelector",)
_WHOLE: Final = (
    "serviceAccountName",
    "imagePullSecrets",
    "securityContext",
    "affinity",
    "tolerations",
    "schedulingGates",
)
"""Fields of a pod that a patch has, as one value each."""
MERGED: Final = (*_BY_NAME, "volumeMounts", "securityContext", "affinity", "node.securityContext")
"""Fields of which a patch changes parts and leaves others as the runtime has them."""
PULL_POLICY: Final = "imagePullPolicy"
_TRAINER: Final = ("image", "command", "resources")
"""Of the container; `command` stands for the arguments too: of two objects they would make a third command line."""
_OF_ONE_JOB: Final = frozenset().union(*V1_VARIABLES.values()) - {"PYTHONUNBUFFERED"}
"""Variables in which a job finds its own pods."""
_HOST: Final = re.compile(r"-0-\d+\.[a-z]")
"""A part of the host name of a pod."""
_METADATA: Final = ("labels", "annotations")


@dataclass(frozen=True, slots=True)
class Portable:
    """The pods of a runtime with one group of nodes."""

    group: str
    """The replicated job."""
    entries: Mapping[Entry, Any]
    """What a TrainJob can say."""
    rest: Json
    """The spec of the runtime without that, and with one node."""
    nodes: int
    """Their number."""

    @property
    def shape(self) -> str:
        """Equal for those whose runtimes differ in nothing that a TrainJob cannot say."""
        return json.dumps(self.rest, sort_keys=True)


def portable(runtime: Json, train_job: Json, target: Target) -> Portable | None:
    """The runtime taken apart; None for one with several groups, or whose pods no trainer is about."""
    rest = copy.deepcopy(runtime["spec"])
    groups = rest["template"]["spec"]["replicatedJobs"]
    labels = ((groups[0]["template"].get("metadata") or {}).get("labels") or {}) if len(groups) == 1 else {}
    if labels.get(ANCESTOR) != TRAINER or "mlPolicy" not in rest:
        return None
    nodes = rest["mlPolicy"].get("numNodes", 1)
    rest["mlPolicy"]["numNodes"] = 1
    template = groups[0]["template"]["spec"]["template"]
    patched = FEATURES[target].overrides == PATCHES
    entries = dict(_taken(template, patched=patched))
    for variable in (train_job["spec"].get("trainer") or {}).get("env") or ():
        entries["env", str(variable["name"])] = variable
    return Portable(groups[0]["name"], entries, rest, nodes)


def _taken(template: Json, *, patched: bool) -> Iterator[tuple[Entry, Any]]:
    """The entries, each taken away from the template."""
    pod = template["spec"]
    main = pod["containers"][0]
    if patched:
        yield from _taken_by_patches(template)
    for each in main.pop("env", None) or ():
        yield ("env", str(each["name"])), each
    if words := {field: main.pop(field) for field in ("command", "args") if main.get(field)}:
        yield ("command", ""), words
    for field in ("image", "resources"):
        if value := main.pop(field, None):
            yield (field, ""), value
    for part in (main, pod):
        for field in [name for name, value in part.items() if value in ({}, [])]:
            del part[field]


def _taken_by_patches(template: Json) -> Iterator[tuple[Entry, Any]]:
    pod = template["spec"]
    main = pod["containers"][0]
    metadata = template.pop("metadata", None) or {}
    for field in _METADATA:
        yield from (((field, name), value) for name, value in (metadata.get(field) or {}).items())
    for field in _WHOLE:
        if field in pod:
            yield (field, ""), pod.pop(field)
    for field in _MAPS:
        yield from (((field, name), value) for name, value in (pod.pop(field, None) or {}).items())
    for field, key in _BY_NAME.items():
        yield from (((field, str(each[key])), each) for each in pod.pop(field, None) or ())
    if "securityContext" in main:
        yield ("node.securityContext", ""), main.pop("securityContext")
    for each in main.pop("volumeMounts", None) or ():
        yield ("volumeMounts", str(each["mountPath"])), each


def runtime_spec(found: Portable, common: Mapping[Entry, Any], pull_policy: str = "") -> Json:
    """The spec of a runtime with these entries in its template."""
    spec = copy.deepcopy(found.rest)
    template = spec["template"]["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]
    main = template["spec"]["containers"][0]
    main.update(_container(common))
    main.update({field: value for (field, _), value in common.items() if field in ("image", "resources")})
    main.update(common.get(("command", ""), {}))
    if env := _entries(common, "env"):
        main["env"] = env
    if pull_policy:
        main[PULL_POLICY] = pull_policy
    template["spec"].update(_pod(common))
    if metadata := _metadata(common):
        template["metadata"] = metadata
    return spec


def train_job_spec(found: Portable, own: Mapping[Entry, Any], spec: Json, reference: Json) -> Json:
    """The spec of a TrainJob on a runtime that lacks these entries."""
    given = dict(spec.get("trainer") or {})
    trainer = {field: value for (field, _), value in own.items() if field == "image"}
    trainer |= own.get(("command", ""), {})
    if env := _entries(own, "env"):
        trainer["env"] = env
    if ("resources", "") in own:
        trainer["resourcesPerNode"] = own["resources", ""]
    given.pop("env", None)
    template: Json = {**({"metadata": metadata} if (metadata := _metadata(own)) else {})}
    pod = _pod(own)
    if container := _container(own):
        pod["containers"] = [{"name": "node", **container}]
    if pod:
        template["spec"] = pod
    result = {**spec, "runtimeRef": reference, "trainer": {**given, **trainer}}
    if template:
        groups = [{"name": found.group, "template": {"spec": {"template": template}}}]
        patch = {"template": {"spec": {"replicatedJobs": groups}}}
        result[PATCHES] = [{"manager": MANAGER, "trainingRuntimeSpec": patch}]
    return result


def _entries(entries: Mapping[Entry, Any], field: str) -> list[Any]:
    return [value for (name, _), value in entries.items() if name == field]


def _metadata(entries: Mapping[Entry, Any]) -> Json:
    found = {field: {key: value for (name, key), value in entries.items() if name == field} for field in _METADATA}
    return {field: values for field, values in found.items() if values}


def _pod(entries: Mapping[Entry, Any]) -> Json:
    pod = {field: value for (field, _), value in entries.items() if field in _WHOLE}
    for field in _MAPS:
        if values := {key: value for (name, key), value in entries.items() if name == field}:
            pod[field] = values
    for field in _BY_NAME:
        if listed := _entries(entries, field):
            pod[field] = listed
    return pod


def _container(entries: Mapping[Entry, Any]) -> Json:
    mounts, context = _entries(entries, "volumeMounts"), entries.get(("node.securityContext", ""))
    return {
        **({"volumeMounts": mounts} if mounts else {}),
        **({"securityContext": context} if context is not None else {}),
    }


def _is_of_one_job(variable: Json) -> bool:
    """Whether the value of a variable may hang on the name or the number of nodes of its TrainJob, or on others."""
    name, value = str(variable["name"]), str(variable.get("value", ""))
    if name.endswith("_PORT") or "valueFrom" in variable:
        return False
    return "$(" in value or name in _OF_ONE_JOB or name.startswith("PADDLE_") or _HOST.search(value) is not None


def common_entries(all_of_them: Iterable[Portable]) -> dict[Entry, Any]:
    """What all say alike, but for what a person looks for in a TrainJob: what is run, and on how much."""
    first, *others = all_of_them
    return {
        entry: value
        for entry, value in first.entries.items()
        if entry[0] not in _TRAINER
        and not (entry[0] == "env" and _is_of_one_job(value))
        and all(each.entries.get(entry) == value for each in others)
    }
