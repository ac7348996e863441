"""What users of the SDK `kubeflow-training` 1.9.4 do; runs in the clients' environment with KUBECONFIG set.

Prints one JSON object: what was seen, by topic. `e2e/test_sdk.py` says what must be there.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
from collections.abc import Callable
from typing import Any

from kubeflow.training import (
    KubeflowOrgV1JAXJob,
    KubeflowOrgV1JAXJobSpec,
    KubeflowOrgV1MPIJob,
    KubeflowOrgV1MPIJobSpec,
    KubeflowOrgV1PaddleJob,
    KubeflowOrgV1PaddleJobSpec,
    KubeflowOrgV1PyTorchJob,
    KubeflowOrgV1PyTorchJobSpec,
    KubeflowOrgV1ReplicaSpec,
    KubeflowOrgV1RunPolicy,
    KubeflowOrgV1TFJob,
    KubeflowOrgV1TFJobSpec,
    KubeflowOrgV1XGBoostJob,
    KubeflowOrgV1XGBoostJobSpec,
    TrainingClient,
)
from kubernetes import client as k8s

NAMESPACE = "default"
WAIT = {"namespace": NAMESPACE, "wait_timeout": 60, "polling_interval": 1}
KINDS: dict[str, tuple[Any, Any, str, str, tuple[str, ...]]] = {
    "PyTorchJob": (
        KubeflowOrgV1PyTorchJob,
        KubeflowOrgV1PyTorchJobSpec,
        "pytorch_replica_specs",
        "pytorch",
        ("Master", "Worker"),
    ),
    "JAXJob": (KubeflowOrgV1JAXJob, KubeflowOrgV1JAXJobSpec, "jax_replica_specs", "jax", ("Worker",)),
    "TFJob": (KubeflowOrgV1TFJob, KubeflowOrgV1TFJobSpec, "tf_replica_specs", "tensorflow", ("Chief", "Worker")),
    "XGBoostJob": (
        KubeflowOrgV1XGBoostJob,
        KubeflowOrgV1XGBoostJobSpec,
        "xgb_replica_specs",
        "xgboost",
        ("Master", "Worker"),
    ),
    "PaddleJob": (
        KubeflowOrgV1PaddleJob,
        KubeflowOrgV1PaddleJobSpec,
        "paddle_replica_specs",
        "paddle",
        ("Master", "Worker"),
    ),
    "MPIJob": (KubeflowOrgV1MPIJob, KubeflowOrgV1MPIJobSpec, "mpi_replica_specs", "mpi", ("Launcher", "Worker")),
}
"""Kind -> model, model of its spec, field of the replicas, name of the container, replica types."""


def job(kind: str, name: str, script: str, workers: int = 1, **policy: Any) -> Any:
    """A job of `kind` whose replicas run a shell script."""
    model, spec, field, container, types = KINDS[kind]
    template = k8s.V1PodTemplateSpec(
        spec=k8s.V1PodSpec(
            containers=[k8s.V1Container(name=container, image="example.com/train:1", command=["sh", "-c", script])]
        )
    )
    replicas = {
        each: KubeflowOrgV1ReplicaSpec(replicas=workers if each == "Worker" else 1, template=template) for each in types
    }
    return model(
        api_version="kubeflow.org/v1",
        kind=kind,
        metadata=k8s.V1ObjectMeta(name=name, namespace=NAMESPACE),
        spec=spec(run_policy=KubeflowOrgV1RunPolicy(**policy), **{field: replicas}),
    )


def train(parameters: dict[str, str]) -> None:
    """The function that a user trains with."""
    import os  # noqa: PLC0415  # the SDK sends the source of this function alone

    print(f"rank {os.environ['RANK']} of {os.environ['WORLD_SIZE']} says {parameters['word']}", flush=True)


def refused(call: Callable[[], Any]) -> str:
    """The sentence with which a call fails."""
    try:
        call()
    except (RuntimeError, ValueError, TimeoutError) as error:
        return f"{type(error).__name__}: {error}"
    return "it worked"


def from_objects(client: TrainingClient, kind: str) -> dict[str, Any]:
    """A job made as an object, followed to its end and looked at from all sides."""
    name = f"from-object-{kind.lower()}"
    client.create_job(job(kind, name, "echo hello; sleep 1; echo done", workers=2))
    created = client.wait_for_job_conditions(name, job_kind=kind, expected_conditions={"Created"}, **WAIT)
    running = client.wait_for_job_conditions(name, job_kind=kind, expected_conditions={"Running", "Succeeded"}, **WAIT)
    with contextlib.redirect_stdout(io.StringIO()):
        followed, _ = client.get_job_logs(name, NAMESPACE, job_kind=kind, follow=True)
    done = client.wait_for_job_conditions(name, job_kind=kind, **WAIT)
    where = {"namespace": NAMESPACE, "job_kind": kind}
    logs, _ = client.get_job_logs(name, is_master=False, **where)
    return {
        "created": type(created).__name__,
        "started": bool(running.status.start_time),
        "conditions": sorted(each.type for each in client.get_job_conditions(name, **where) if each.status == "True"),
        "is": [
            check(name, **where)
            for check in (
                client.is_job_created,
                client.is_job_running,
                client.is_job_restarting,
                client.is_job_succeeded,
                client.is_job_failed,
            )
        ],
        "succeeded": {each: status.succeeded for each, status in done.status.replica_statuses.items()},
        "pods": sorted(client.get_job_pod_names(name, NAMESPACE)),
        "workers": sorted(each.metadata.name for each in client.get_job_pods(name, NAMESPACE, replica_type="worker")),
        "first worker": [
            each.metadata.name for each in client.get_job_pods(name, NAMESPACE, replica_type="worker", replica_index=0)
        ],
        "master": client.get_job_pod_names(name, NAMESPACE, is_master=True),
        "followed": followed,
        "logs": logs,
        "listed": [each.metadata.name for each in client.list_jobs(NAMESPACE, job_kind=kind)],
    }


def from_function(client: TrainingClient) -> dict[str, Any]:
    """A job made from a function, with events."""
    name = "from-function"
    client.create_job(
        name=name,
        namespace=NAMESPACE,
        train_func=train,
        parameters={"word": "hello"},
        num_workers=1,
        base_image="example.com/train:1",
        env_vars={"EXTRA": "1"},
    )
    client.wait_for_job_conditions(name, **WAIT)
    logs, events = client.get_job_logs(name, NAMESPACE, verbose=True)
    return {"logs": logs, "events": sorted(events)}


def changes(client: TrainingClient) -> dict[str, Any]:
    """A job that is updated while it is suspended, then deleted; and one that fails."""
    client.create_job(job("PyTorchJob", "changed", "sleep 600", workers=1, suspend=True))
    found = client.get_job("changed", NAMESPACE)
    found.spec.pytorch_replica_specs["Worker"].replicas = 3
    client.update_job(found, "changed", NAMESPACE)
    stored = client.get_job("changed", NAMESPACE)
    client.create_job(job("PyTorchJob", "failing", "exit 3", backoff_limit=0))
    failed = refused(lambda: client.wait_for_job_conditions("failing", **WAIT))
    client.delete_job("changed", NAMESPACE)
    return {
        "suspended": found.spec.run_policy.suspend,
        "replicas": stored.spec.pytorch_replica_specs["Worker"].replicas,
        "failed": failed,
        "is failed": client.is_job_failed("failing", NAMESPACE),
        "gone": refused(lambda: client.get_job("changed", NAMESPACE)),
        "twice": refused(lambda: client.create_job(job("PyTorchJob", "failing", "true"))),
        "bad": refused(lambda: client.create_job(job("PyTorchJob", "bad", "true", managed_by="nobody"))),
    }


def all_kinds(client: TrainingClient) -> dict[str, Any]:
    """One suspended job of every kind, created, read and deleted."""
    seen = {}
    for kind in KINDS:
        name = f"any-{kind.lower()}"
        client.create_job(job(kind, name, "true", suspend=True))
        read = client.get_job(name, NAMESPACE, job_kind=kind)
        listed = [each.metadata.name for each in client.list_jobs(NAMESPACE, job_kind=kind)]
        client.delete_job(name, NAMESPACE, job_kind=kind, delete_options=k8s.V1DeleteOptions())
        seen[kind] = [read.kind, name in listed]
    return seen


def main() -> None:
    """Do everything; the SDK's own words go to standard error."""
    with contextlib.redirect_stdout(sys.stderr):
        client = TrainingClient(namespace=NAMESPACE)
        seen = {kind: from_objects(client, kind) for kind in KINDS if kind != "MPIJob"}
        seen |= {"function": from_function(client), "changes": changes(client), "kinds": all_kinds(client)}
    print(json.dumps(seen))


if __name__ == "__main__":
    main()
