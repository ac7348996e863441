"""Small jobs of v1, and questions asked of what becomes of them."""

from __future__ import annotations

import copy
from typing import Any

from training_migration.convert import convert
from training_migration.convert.conversion import Conversion, Options
from training_migration.targets import Target
from training_migration.v1_job import v1_job

Json = dict[str, Any]
INDEX = {"fieldRef": {"fieldPath": "metadata.annotations['batch.kubernetes.io/job-completion-index']"}}


def template(container: str, **fields: Any) -> Json:
    return {"spec": {"containers": [{"name": container, "image": "example.com/train:1", **fields}]}}


def pytorch(workers: int = 1, *, master: bool = True, policy: Json | None = None, **fields: Any) -> Json:
    """A PyTorchJob of a plain program, or of what `fields` of the container say."""
    pod = template("pytorch", **{"command": ["python", "train.py"], **fields})
    replicas: Json = {"Worker": {"replicas": workers, "restartPolicy": "OnFailure", "template": pod}} if workers else {}
    if master:
        replicas["Master"] = {"replicas": 1, "restartPolicy": "OnFailure", "template": copy.deepcopy(pod)}
    spec: Json = {"pytorchReplicaSpecs": replicas}
    if policy is not None:
        spec["runPolicy"] = policy
    metadata = {"name": "job", "namespace": "team"}
    return {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": metadata, "spec": spec}


def jax(workers: int = 2, **fields: Any) -> Json:
    pod = template("jax", **{"command": ["python", "train.py"], **fields})
    spec = {"jaxReplicaSpecs": {"Worker": {"replicas": workers, "template": pod}}}
    return {"apiVersion": "kubeflow.org/v1", "kind": "JAXJob", "metadata": {"name": "job"}, "spec": spec}


def converted(obj: Json, target: Target = Target.V2_3, **options: Any) -> Conversion:
    return convert(v1_job(obj), Options(target, **options))


def runtime_spec(conversion: Conversion) -> Json:
    assert conversion.runtime is not None
    spec: Json = conversion.runtime["spec"]
    return spec


def job_set(conversion: Conversion) -> Json:
    """The spec of the runtime's JobSet."""
    spec: Json = runtime_spec(conversion)["template"]["spec"]
    return spec


def replicated_job(conversion: Conversion, name: str = "node") -> Json:
    found: Json = next(each for each in job_set(conversion)["replicatedJobs"] if each["name"] == name)
    return found


def pod(conversion: Conversion, name: str = "node") -> Json:
    spec: Json = replicated_job(conversion, name)["template"]["spec"]["template"]["spec"]
    return spec


def trainer_env(conversion: Conversion) -> Json:
    env = conversion.train_job["spec"]["trainer"].get("env", [])
    return {each["name"]: each.get("value", each.get("valueFrom")) for each in env}


def rules(conversion: Conversion) -> dict[str, bool]:
    """Id of each rule that was found -> whether the conversion mends it."""
    return {each.rule.id: each.fixed for each in conversion.findings}


def variables(container: Json) -> Json:
    """Name -> value, or where it comes from."""
    return {each["name"]: each.get("value", each.get("valueFrom")) for each in container.get("env", [])}
