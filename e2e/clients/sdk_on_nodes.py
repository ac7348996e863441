"""What users of the SDK do where pods really run; `e2e/clients/test_sdk_on_nodes.py` says what must come of it.

`python -m e2e.clients.sdk_on_nodes [TOPIC ...]` in the clients' environment, with KUBECONFIG set.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from e2e.clients.sdk_jobs import KINDS, LIMIT, Session, fine_tune, job, rejected, run, template, until
from kubeflow.training import models
from kubernetes import client as k8s


def from_object(kind: str, s: Session) -> dict[str, Any]:
    """A job made as an object, followed to its end and looked at from all sides, and deleted."""
    client, name = s.client, "mine"
    # Workers that have not started when their master ends never do, as with v1: a busy machine starts them late.
    client.create_job(job(kind, name, "echo hello; sleep 5; echo done", workers=2))
    created = s.wait(name, "Created", kind=kind)
    running = s.wait(name, "Running", "Succeeded", kind=kind)
    followed, _ = client.get_job_logs(name, job_kind=kind, follow=True)
    looks: list[Any] = []
    done = client.wait_for_job_conditions(
        name, job_kind=kind, wait_timeout=int(LIMIT), polling_interval=1, callback=looks.append
    )
    s.all_end(name)
    checks = ("created", "running", "restarting", "succeeded", "failed")
    seen = {
        "created": type(created).__name__,
        "started": bool(running.status.start_time),
        "callback": type(looks[-1]).__name__,
        "conditions": s.true_conditions(name, kind),
        "is": [getattr(client, f"is_job_{each}")(name, job_kind=kind) for each in checks],
        "is, of the object": [getattr(client, f"is_job_{each}")(job=done, job_kind=kind) for each in checks],
        "succeeded": {each: status.succeeded for each, status in done.status.replica_statuses.items()},
        "pods": sorted(client.get_job_pod_names(name)),
        "master": client.get_job_pod_names(name, is_master=True),
        "followed": followed,
        "logs": client.get_job_logs(name, job_kind=kind, is_master=False)[0],
        "logs of a worker": client.get_job_logs(
            name, job_kind=kind, is_master=False, replica_type="worker", replica_index=1
        )[0],
        "listed": [each.metadata.name for each in client.list_jobs(job_kind=kind)],
    }
    client.delete_job(name, job_kind=kind)
    s.pods(name, 0)
    seen["gone"] = rejected(lambda: client.get_job(name, job_kind=kind))
    return seen


def greet(parameters: dict[str, str]) -> None:
    """The function that a user trains with; the SDK sends its source alone."""
    import os

    print(f"rank {os.environ['RANK']} of {os.environ['WORLD_SIZE']} says {parameters['word']}", os.environ["EXTRA"])


def from_function(s: Session) -> dict[str, Any]:
    """A job made from a function: one Python process; with events."""
    s.client.create_job(
        name="function",
        train_func=greet,
        parameters={"word": "hello"},
        base_image="example.com/train:1",
        env_vars={"EXTRA": "1"},
    )
    s.wait("function")
    logs, events = s.client.get_job_logs("function", verbose=True)
    return {"logs": logs, "events": events}


def tell_tensorflow() -> None:
    """A function without parameters, run as chief, parameter server and workers."""
    import json
    import os
    import time

    config = json.loads(os.environ["TF_CONFIG"])
    task, cluster = config["task"], {each: len(addresses) for each, addresses in config["cluster"].items()}
    print(task["type"], task["index"], sorted(cluster.items()), flush=True)
    if task["type"] == "ps":
        time.sleep(600)


def tensorflow_function(s: Session) -> dict[str, Any]:
    """A TFJob made from a function, with a chief and a parameter server that never ends."""
    s.client.create_job(
        name="function",
        job_kind="TFJob",
        train_func=tell_tensorflow,
        base_image="example.com/train:1",
        num_workers=2,
        num_chief_replicas=1,
        num_ps_replicas=1,
    )
    s.wait("function", kind="TFJob")
    s.all_end("function", except_type="ps")
    until(lambda: s.core.read_namespaced_pod_log("function-ps-0", s.namespace), "the words of the parameter server")
    return {"logs": s.client.get_job_logs("function", job_kind="TFJob", is_master=False)[0]}


def allreduce() -> None:
    """Sum the ranks of all processes over gloo."""
    import os

    import torch
    import torch.distributed as dist

    dist.init_process_group("gloo")
    total = torch.tensor([dist.get_rank() + 1])
    dist.all_reduce(total)
    print(f"rank {dist.get_rank()} of {dist.get_world_size()}: sum {int(total)}, local {os.environ['LOCAL_RANK']}")
    dist.destroy_process_group()  # while its tensors live, see the examples


def torchrun(s: Session) -> dict[str, Any]:
    """Three nodes from a function: `torchrun` without flags finds everything in its environment."""
    s.client.create_job(
        name="torchrun",
        train_func=allreduce,
        base_image="example.com/torch:1",
        num_workers=3,
        num_procs_per_worker=1,
    )
    until(lambda: {pod.status.phase for pod in s.pods("torchrun", 3)} == {"Running"}, "three running pods")
    # Followed, as a worker that is late is run again once the master's store is gone with its pod.
    logs, _ = s.client.get_job_logs("torchrun", is_master=False, follow=True)
    s.wait("torchrun")
    return {"logs": logs}


def fine_tuning(s: Session) -> dict[str, Any]:
    """`train()`, with programs of this machine in the place of its two images."""
    fine_tune(s, "tuned", output_dir="/workspace/out", num_train_epochs=3, learning_rate=3e-3)
    s.wait("tuned")
    s.all_end("tuned")
    initialized = s.core.read_namespaced_pod_log("tuned-master-0", s.namespace, container="storage-initializer")
    return {"initialized": initialized, "logs": s.client.get_job_logs("tuned", is_master=False)[0]}


def failing(s: Session) -> dict[str, Any]:
    """A job that fails, with what the SDK says of it, and one that takes too long."""
    s.client.create_job(job("PyTorchJob", "failing", "echo oh no; exit 3", backoff_limit=0))
    s.client.create_job(job("JAXJob", "slow", "sleep 600"))
    told = rejected(lambda: s.wait("failing"))
    late = {"wait_timeout": 1, "polling_interval": 0.5, "job_kind": "JAXJob"}
    return {
        "told": told,
        "expected": s.wait("failing", "Failed").kind,
        "is failed": s.client.is_job_failed("failing"),
        "too late": rejected(lambda: s.client.wait_for_job_conditions("slow", **late)),
    }


def expiring(s: Session) -> dict[str, Any]:
    """A job with a short time to live: seen as long as it was promised, and then no more."""
    s.client.create_job(job("JAXJob", "short", ttl_seconds_after_finished=2))
    done = s.wait("short", kind="JAXJob")
    until(lambda: "(404)" in rejected(lambda: s.client.get_job("short", job_kind="JAXJob")), "the end of the job")
    return {
        "lived": time.time() - done.status.completion_time.timestamp(),
        "waited for": rejected(lambda: s.wait("short", kind="JAXJob")),
    }


def preparing(s: Session) -> dict[str, Any]:
    """The shape of `train()`: the master's init container fills a claim that the workers read without further ado."""
    claim = k8s.V1PersistentVolumeClaim(
        metadata=k8s.V1ObjectMeta(name="preparing"),
        spec=k8s.V1PersistentVolumeClaimSpec(
            access_modes=["ReadWriteOnce", "ReadOnlyMany"],
            resources=k8s.V1ResourceRequirements(requests={"storage": "10Gi"}),
        ),
    )
    s.core.create_namespaced_persistent_volume_claim(s.namespace, claim)
    mounts = [k8s.V1VolumeMount(name="data", mount_path="/workspace")]
    source = k8s.V1PersistentVolumeClaimVolumeSource(claim_name="preparing")
    fetch = k8s.V1Container(
        name="storage-initializer",
        image="example.com/fetch:1",
        command=["sh", "-c", "sleep 3; echo weights > /workspace/model"],
        volume_mounts=mounts,
    )
    read = "cat /workspace/model; touch /workspace/$HOSTNAME"
    and_wait = "until test $(ls /workspace | wc -l) = 4; do sleep 0.1; done"
    prepared = job("PyTorchJob", "preparing", workers=2)
    for name, replica in prepared.spec.pytorch_replica_specs.items():
        replica.template = template(
            "pytorch",
            f"{read}; {and_wait}" if name == "Master" else read,
            volumes=[k8s.V1Volume(name="data", persistent_volume_claim=source)],
            volume_mounts=mounts,
            init_containers=[fetch] if name == "Master" else None,
        )
    s.client.create_job(prepared)
    s.wait("preparing")
    s.all_end("preparing")
    started = {
        pod.metadata.name: pod.status.container_statuses[0].state.terminated.started_at.timestamp()
        for pod in s.client.get_job_pods("preparing")
    }
    return {"logs": s.client.get_job_logs("preparing", is_master=False)[0], "started": started}


INSIDE = """
from kubeflow.training import TrainingClient
client = TrainingClient()
print(client.namespace, [each.metadata.name for each in client.list_jobs(job_kind='JAXJob')])
"""


def inside(s: Session) -> dict[str, Any]:
    """A pod that uses the SDK itself: as the service account of the pod, in its namespace."""
    role = k8s.V1Role(
        metadata=k8s.V1ObjectMeta(name="looks"),
        rules=[k8s.V1PolicyRule(api_groups=["kubeflow.org"], resources=["jaxjobs"], verbs=["list"])],
    )
    binding = k8s.V1RoleBinding(
        metadata=k8s.V1ObjectMeta(name="looks"),
        role_ref=k8s.V1RoleRef(api_group="rbac.authorization.k8s.io", kind="Role", name="looks"),
        subjects=[k8s.RbacV1Subject(kind="ServiceAccount", name="default", namespace=s.namespace)],
    )
    rights = k8s.RbacAuthorizationV1Api()
    rights.create_namespaced_role(s.namespace, role)
    rights.create_namespaced_role_binding(s.namespace, binding)
    pod = template("jax", f'{sys.executable} -c "{INSIDE}"')
    inner = job("JAXJob", "inside")
    inner.spec.jax_replica_specs["Worker"] = models.KubeflowOrgV1ReplicaSpec(replicas=1, template=pod)
    s.client.create_job(inner)
    s.wait("inside", "Succeeded", "Failed", kind="JAXJob")
    return {"logs": s.client.get_job_logs("inside", job_kind="JAXJob")[0]}


TOPICS: dict[str, Callable[[Session], Any]] = {
    **{kind.lower(): partial(from_object, kind) for kind in KINDS},
    "function": from_function,
    "tensorflow-function": tensorflow_function,
    "torchrun": torchrun,
    "fine-tuning": fine_tuning,
    "failing": failing,
    "expiring": expiring,
    "preparing": preparing,
    "inside": inside,
}

if __name__ == "__main__":
    run(TOPICS)
