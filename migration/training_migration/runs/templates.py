"""The pod templates inside the objects that a user submits, so that both sides can be changed alike."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from training_migration.v1_job import is_v1_job
from training_migration.v2.names import CLUSTER_RUNTIME, RUNTIME, TRAINER_GROUP

Json = dict[str, Any]


def is_runtime(obj: Mapping[str, Any]) -> bool:
    """Whether this is a runtime of Trainer v2, of either scope."""
    return obj.get("kind") in (RUNTIME, CLUSTER_RUNTIME) and str(obj.get("apiVersion", "")).startswith(TRAINER_GROUP)


def is_train_job(obj: Mapping[str, Any]) -> bool:
    """Whether this is a TrainJob."""
    return obj.get("kind") == "TrainJob" and str(obj.get("apiVersion", "")).startswith(TRAINER_GROUP)


def templates(obj: Json) -> Iterator[tuple[str, Json]]:
    """Each pod template of a v1 job or a runtime, by role: the replica type in small letters, or the replicated job."""
    if is_v1_job(obj):
        for field, replicas in obj["spec"].items():
            if field.endswith("ReplicaSpecs"):
                yield from ((role.lower(), spec["template"]) for role, spec in replicas.items())
    elif is_runtime(obj):
        for job in obj["spec"]["template"]["spec"].get("replicatedJobs") or ():
            yield job["name"], job["template"]["spec"]["template"]


def changed(objects: Sequence[Json], change: Callable[[str, Json], None]) -> list[Json]:
    """Copies of the objects, each pod template of them changed in place by `change(role, template)`."""
    copies = copies_of(objects)
    for each in copies:
        for role, template in templates(each):
            change(role, template)
    return copies


def copies_of(objects: Sequence[Json]) -> list[Json]:
    """Copies that share nothing, not even what one anchor of YAML has put into several places."""
    return [json.loads(json.dumps(each)) for each in objects]


def set_variable(container: Json, name: str, value: str) -> None:
    """Give a container a variable, instead of the one of that name."""
    kept = [each for each in container.get("env") or () if each["name"] != name]
    container["env"] = [*kept, {"name": name, "value": value}]


def mount(template: Json, config_map: str, folder: str) -> None:
    """Show the files of a config map to every container, below `folder`."""
    spec = template["spec"]
    spec["volumes"] = [*(spec.get("volumes") or ()), {"name": config_map, "configMap": {"name": config_map}}]
    for container in spec["containers"]:
        shown = {"name": config_map, "mountPath": folder, "readOnly": True}
        container["volumeMounts"] = [*(container.get("volumeMounts") or ()), shown]


def runnable(objects: Sequence[Json]) -> list[Json]:
    """Copies of the objects that begin at once, whoever manages them, and are not deleted before they are read."""
    copies = copies_of(objects)
    for each in copies:
        if is_v1_job(each):
            policy = each["spec"].get("runPolicy") or {}
            for field in ("suspend", "managedBy", "ttlSecondsAfterFinished"):
                policy.pop(field, None)
        elif is_train_job(each):
            for field in ("suspend", "managedBy"):
                each["spec"].pop(field, None)
        elif is_runtime(each):
            each["spec"]["template"]["spec"].pop("ttlSecondsAfterFinished", None)
        if is_v1_job(each) or is_train_job(each):
            each.pop("status", None)
    return copies
