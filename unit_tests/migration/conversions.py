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


def job(kind: str, field: str, container: str, counts: dict[str, int], **fields: Any) -> Json:
    """A job with so many replicas of each type, all of one template."""
    pod_template = template(container, **{"command": ["python", "train.py"], **fields})
    replicas = {name: {"replicas": count, "template": copy.deepcopy(pod_template)} for name, count in counts.items()}
    metadata = {"name": "job", "namespace": "team"}
    return {"apiVersion": "kubeflow.org/v1", "kind": kind, "metadata": metadata, "spec": {field: replicas}}


def pytorch(workers: int = 1, *, master: bool = True, policy: Json | None = None, **fields: Any) -> Json:
    """A PyTorchJob of a plain program, or of what `fields` of the container say."""
    counts = {**({"Worker": workers} if workers else {}), **({"Master": 1} if master else {})}
    obj = job("PyTorchJob", "pytorchReplicaSpecs", "pytorch", counts, **fields)
    for replica in obj["spec"]["pytorchReplicaSpecs"].values():
        replica["restartPolicy"] = "OnFailure"
    if policy is not None:
        obj["spec"]["runPolicy"] = policy
    return obj


def jax(workers: int = 2, **fields: Any) -> Json:
    obj = job("JAXJob", "jaxReplicaSpecs", "jax", {"Worker": workers}, **fields)
    del obj["metadata"]["namespace"]
    return obj


def tensorflow(counts: dict[str, int], **fields: Any) -> Json:
    return job("TFJob", "tfReplicaSpecs", "tensorflow", counts, **fields)


def xgboost(counts: dict[str, int], **fields: Any) -> Json:
    return job("XGBoostJob", "xgbReplicaSpecs", "xgboost", counts, **fields)


def paddle(counts: dict[str, int], **fields: Any) -> Json:
    return job("PaddleJob", "paddleReplicaSpecs", "paddle", counts, **fields)


def mpi(workers: int = 2, **fields: Any) -> Json:
    obj = job("MPIJob", "mpiReplicaSpecs", "mpi", {"Launcher": 1, "Worker": workers}, **fields)
    obj["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]["containers"][0]["command"] = ["mpirun", "train"]
    del obj["spec"]["mpiReplicaSpecs"]["Worker"]["template"]["spec"]["containers"][0]["command"]
    return obj


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
