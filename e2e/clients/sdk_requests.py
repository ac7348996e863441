"""What the SDK sends and what it makes of answers, on any API server with the operator; no pod needs to run.

`python -m e2e.clients.sdk_requests [TOPIC ...]` in the clients' environment, with KUBECONFIG set;
`e2e/clients/test_sdk_requests.py` says what must come of it.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from e2e.clients.sdk_jobs import KINDS, Session, fine_tune, job, rejected, run, until
from kubeflow.training import TrainingClient
from kubernetes import client as k8s
from kubernetes import config
from kubernetes.config.kube_config import list_kube_config_contexts


def work(parameters: dict[str, float]) -> None:
    """The function that a user trains with."""
    print(parameters)


def rejections(s: Session) -> dict[str, str]:
    """The sentences that users read when something cannot be done."""
    client = s.client
    client.create_job(job("PyTorchJob", "there", suspend=True))
    client.create_job(job("PyTorchJob", "theirs", managed_by="kueue.x-k8s.io/multikueue"))
    moved = client.get_job("theirs")
    moved.spec.run_policy.managed_by = "kubeflow.org/training-operator"
    missing = job("PyTorchJob", "typeless")
    missing.spec.pytorch_replica_specs = {"worker-1": missing.spec.pytorch_replica_specs["Worker"]}
    of_jax = job("JAXJob", "other")
    client.create_job(job("PyTorchJob", "labelled", suspend=True), labels={"team": "a"})
    return {
        "labels beside an object": str(s.raw("PyTorchJob", "labelled")["metadata"].get("labels")),
        "unknown kind": rejected(lambda: TrainingClient(job_kind="RayJob")),
        "unknown kind of a job": rejected(lambda: client.get_job("there", job_kind="RayJob")),
        "unknown manager": rejected(lambda: client.create_job(job("PyTorchJob", "bad", managed_by="nobody"))),
        "other manager": rejected(lambda: client.update_job(moved, "theirs")),
        "bad replica type": rejected(lambda: client.create_job(missing)),
        "twice": rejected(lambda: client.create_job(job("PyTorchJob", "there"))),
        "absent": rejected(lambda: client.get_job("absent")),
        "absent update": rejected(lambda: client.update_job(moved, "absent")),
        "absent delete": rejected(lambda: client.delete_job("absent")),
        "object and function": rejected(lambda: client.create_job(of_jax, train_func=work)),
        "kind without functions": rejected(lambda: client.create_job(name="f", job_kind="JAXJob", train_func=work)),
        "nameless": rejected(lambda: client.create_job(train_func=work)),
        "replica type of pods": rejected(lambda: client.get_job_pods("there", replica_type="Evaluator")),
        "part of a replica type": str(client.get_job_pods("there", replica_type="ork")),
        "object of another kind": rejected(lambda: client.get_job_conditions(job=of_jax)),
    }


def left_alone(s: Session) -> dict[str, Any]:
    """A job of another controller, and one of ours that comes later."""
    s.client.create_job(job("PyTorchJob", "theirs", managed_by="kueue.x-k8s.io/multikueue"))
    s.client.create_job(job("PyTorchJob", "ours", managed_by="kubeflow.org/training-operator"))
    s.wait("ours", "Created")
    s.pods("ours", 2)
    return {"conditions": s.client.get_job_conditions("theirs"), "pods": s.client.get_job_pod_names("theirs")}


def drafted(s: Session, name: str, kind: str, count: int) -> dict[str, Any]:
    """A job as it is stored, and what the operator made of it: per pod policy, environment and ports."""
    stored = s.raw(kind, name)
    pods = {}
    for pod in s.pods(name, count):
        main = next(each for each in pod.spec.containers if each.name == KINDS[kind].container)
        pods[pod.metadata.name] = {
            "restart": pod.spec.restart_policy,
            "env": {each.name: each.value for each in main.env or ()},
            "ports": [[each.name, each.container_port] for each in main.ports],
            "annotations": pod.metadata.annotations,
            "limits": main.resources.limits,
            "init": [each.name for each in pod.spec.init_containers or ()],
            "mounts": [each.mount_path for each in main.volume_mounts or ()],
            "command": main.command,
        }
    services = s.core.list_namespaced_service(s.namespace, label_selector=f"training.kubeflow.org/job-name={name}")
    return {
        "spec": stored["spec"],
        "metadata": {each: stored["metadata"].get(each) for each in ("labels", "annotations")},
        "pods": pods,
        "services": {each.metadata.name: each.spec.publish_not_ready_addresses for each in services.items},
    }


def bodies(s: Session) -> dict[str, Any]:
    """Jobs from functions and images with every setting, and what becomes of them."""
    claim = k8s.V1PersistentVolumeClaimVolumeSource(claim_name="claim")
    s.client.create_job(
        name="full",
        train_func=work,
        parameters={"lr": 0.1},
        base_image="example.com/train:1",
        num_workers=3,
        num_procs_per_worker=2,
        resources_per_worker={"cpu": 2, "memory": "1Gi", "gpu": 0},
        packages_to_install=["six"],
        pip_index_url="https://example.com/simple",
        env_vars=[k8s.V1EnvVar(name="EXTRA", value="1")],
        labels={"team": "a"},
        annotations={"note": "b"},
        volumes=[k8s.V1Volume(name="data", persistent_volume_claim=claim)],
        volume_mounts=[k8s.V1VolumeMount(name="data", mount_path="/data")],
    )
    s.client.create_job(name="image", base_image="example.com/train:1")
    s.client.create_job(name="tf", job_kind="TFJob", train_func=work, num_workers=2, num_chief_replicas=1)
    s.client.create_job(name="tf-alone", job_kind="TFJob", base_image="example.com/train:1")
    return {
        "full": drafted(s, "full", "PyTorchJob", 3),
        "image": drafted(s, "image", "PyTorchJob", 1),
        "tf": drafted(s, "tf", "TFJob", 3),
        "tf-alone": drafted(s, "tf-alone", "TFJob", 1),
    }


def train(s: Session) -> dict[str, Any]:
    """Fine-tuning of a language model, up to the pods."""
    fine_tune(s, "tuned")
    seen = drafted(s, "tuned", "PyTorchJob", 2)
    claim = s.core.read_namespaced_persistent_volume_claim("tuned", s.namespace)
    seen["claim"] = {
        "modes": claim.spec.access_modes,
        "size": claim.spec.resources.requests["storage"],
        "owners": claim.metadata.owner_references,
    }
    s.client.delete_job("tuned")
    s.pods("tuned", 0)
    until(lambda: "(404)" in rejected(lambda: s.client.get_job("tuned")), "the end of the job")
    fine_tune(s, "tuned")
    seen["again"] = len(s.pods("tuned", 2))
    return seen


def constructors(s: Session) -> dict[str, Any]:
    """All ways to say which cluster and namespace are meant."""
    s.client.create_job(job("JAXJob", "here", suspend=True))
    context = list_kube_config_contexts()[1]["name"]
    by_hand = k8s.Configuration()
    config.load_kube_config(client_configuration=by_hand)
    clients = {
        "file": TrainingClient(config_file=os.environ["KUBECONFIG"], namespace=s.namespace, job_kind="JAXJob"),
        "context": TrainingClient(context=context, namespace=s.namespace, job_kind="JAXJob"),
        "configuration": TrainingClient(client_configuration=by_hand, namespace=s.namespace, job_kind="JAXJob"),
    }
    named = TrainingClient(job_kind="JAXJob")
    return {
        **{way: [each.metadata.name for each in client.list_jobs()] for way, client in clients.items()},
        "default namespace": named.namespace,
        "another namespace": [each.metadata.name for each in named.list_jobs(namespace=s.namespace)],
        "default kind": TrainingClient().job_kind,
        "no such context": rejected(lambda: TrainingClient(context="absent")),
    }


TOPICS: dict[str, Callable[[Session], Any]] = {
    "rejections": rejections,
    "left-alone": left_alone,
    "bodies": bodies,
    "train": train,
    "constructors": constructors,
}

if __name__ == "__main__":
    run(TOPICS)
