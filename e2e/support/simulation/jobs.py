"""Jobs for tests, as a user would write them."""

from __future__ import annotations

from typing import Any

from e2e.support.simulation.api import Json


def replica(container: str, replicas: int, policy: str | None, **pod_spec: Any) -> Json:
    template = {"spec": {"containers": [{"name": container, "image": "trainer:1"}], **pod_spec}}
    spec: Json = {"replicas": replicas, "template": template}
    return spec | ({"restartPolicy": policy} if policy else {})


def _job(kind: str, name: str, field: str, replicas: Json, run: Json) -> Json:
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": kind,
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"runPolicy": run, field: replicas},
    }


def pytorch(name: str = "pt", *, workers: int = 2, policy: str = "OnFailure", master: bool = True, **run: Any) -> Json:
    """A PyTorchJob; `run` is its run policy."""
    specs = {"Worker": replica("pytorch", workers, policy)} if workers else {}
    if master:
        specs["Master"] = replica("pytorch", 1, policy)
    return _job("PyTorchJob", name, "pytorchReplicaSpecs", specs, run)


def jax(name: str = "jx", *, workers: int = 2, policy: str = "OnFailure", **run: Any) -> Json:
    """A JAXJob; `run` is its run policy."""
    return _job("JAXJob", name, "jaxReplicaSpecs", {"Worker": replica("jax", workers, policy)}, run)


def paddle(name: str = "pd", *, workers: int = 2, policy: str = "OnFailure", master: bool = False, **run: Any) -> Json:
    """A PaddleJob; `run` is its run policy."""
    specs = {"Worker": replica("paddle", workers, policy)}
    if master:
        specs["Master"] = replica("paddle", 1, policy)
    return _job("PaddleJob", name, "paddleReplicaSpecs", specs, run)


def tensorflow(name: str = "tf", *, workers: int = 2, policy: str = "OnFailure", **run: Any) -> Json:
    """A TFJob with a chief; `run` is its run policy."""
    specs = {"Chief": replica("tensorflow", 1, policy), "Worker": replica("tensorflow", workers, policy)}
    return _job("TFJob", name, "tfReplicaSpecs", specs, run)


def xgboost(name: str = "xg", *, workers: int = 2, policy: str = "OnFailure", **run: Any) -> Json:
    """An XGBoostJob; `run` is its run policy."""
    specs = {"Master": replica("xgboost", 1, policy), "Worker": replica("xgboost", workers, policy)}
    return _job("XGBoostJob", name, "xgbReplicaSpecs", specs, run)


def mpi(name: str = "mp", *, workers: int = 2, policy: str = "Never", **run: Any) -> Json:
    """An MPIJob; `run` is its run policy."""
    specs = {"Launcher": replica("main", 1, policy), "Worker": replica("main", workers, policy)}
    return _job("MPIJob", name, "mpiReplicaSpecs", specs, run)


def elastic(maximum: int = 4) -> Json:
    """A PyTorchJob of two workers that an autoscaler scales."""
    job = pytorch(workers=2, master=False)
    cpu = {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}}
    metrics = [{"type": "Resource", "resource": cpu}]
    job["spec"]["elasticPolicy"] = {"minReplicas": 1, "maxReplicas": maximum, "metrics": metrics}
    return job


def extended(job: Json, extension: str, value: str) -> Json:
    """The job with the annotation of an extension."""
    job["metadata"].setdefault("annotations", {})[f"extension.training.kubeflow.org/{extension}"] = value
    return job


def controlled_by(job: Json) -> Json:
    """The metadata of an object that a stored job controls."""
    owner = {"apiVersion": job["apiVersion"], "kind": job["kind"], "name": job["metadata"]["name"], "controller": True}
    return {"ownerReferences": [{**owner, "uid": job["metadata"]["uid"]}]}


def conditions(job: Json) -> dict[str, str]:
    """Condition type -> status, in the order in which they are stored."""
    return {c["type"]: c["status"] for c in job.get("status", {}).get("conditions", [])}


def counters(job: Json, replica_type: str = "Worker") -> Json:
    """The counters of one replica type."""
    found: Json = job["status"]["replicaStatuses"][replica_type]
    return found
