"""Small jobs of v1, runtimes and TrainJobs for tests."""

from __future__ import annotations

from typing import Any

from training_api.documents import Document
from training_migration.convert.conversion import Options
from training_migration.targets import Target

Json = dict[str, Any]
OPTIONS = Options(Target.V2_3)
FIELDS = {
    "PyTorchJob": ("pytorchReplicaSpecs", "pytorch"),
    "TFJob": ("tfReplicaSpecs", "tensorflow"),
    "XGBoostJob": ("xgbReplicaSpecs", "xgboost"),
    "MPIJob": ("mpiReplicaSpecs", "mpi"),
    "PaddleJob": ("paddleReplicaSpecs", "paddle"),
    "JAXJob": ("jaxReplicaSpecs", "jax"),
}


def role(replicas: int = 1, *, restart: str = "Never", pod: Json | None = None, **container: Any) -> Json:
    """A replica type; `container` are fields of the one that trains, `pod` those beside the containers."""
    template = dict(pod or {})
    others = template.pop("containers", [])
    main = {"image": "example.com/image", "command": ["torchrun", "train.py"], **container}
    return {
        "replicas": replicas,
        "restartPolicy": restart,
        "template": {"spec": {**template, "containers": [main, *others]}},
    }


def job(
    kind: str, roles: dict[str, Json], *, run: Json | None = None, metadata: Json | None = None, **spec: Any
) -> Json:
    """A job of v1; the containers that train get their name."""
    field, name = FIELDS[kind]
    for each in roles.values():
        main = each["template"]["spec"]["containers"][0]
        each["template"]["spec"]["containers"][0] = {"name": name, **main}
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": kind,
        "metadata": {"name": "job", "namespace": "team", **(metadata or {})},
        "spec": {"runPolicy": {"backoffLimit": 3, "cleanPodPolicy": "Running", **(run or {})}, field: roles, **spec},
    }


def pytorch(*, master: Json | None = None, worker: Json | None = None, **spec: Any) -> Json:
    """A master and two workers, started by torchrun with one process each."""
    roles = {"Master": master or role(), "Worker": worker or role(2)}
    return job("PyTorchJob", roles, **{"nprocPerNode": "1", **spec})


def alike(**container: Any) -> Json:
    """A PyTorchJob whose master and workers have these fields."""
    pod = container.pop("pod", None)
    return pytorch(master=role(pod=pod, **container), worker=role(2, pod=pod, **container))


def node(
    *, label: bool = True, name: str = "node", pod: Json | None = None, job_spec: Json | None = None, **fields: Any
) -> Json:
    """A replicated job; `fields` are of its container."""
    labels = {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"} if label else {}
    template = dict(pod or {})
    others = template.pop("containers", [])
    containers = [{"name": "node", "image": "example.com/image", **fields}, *others]
    spec = {**(job_spec or {}), "template": {"spec": {**template, "containers": containers}}}
    return {"name": name, "template": {"metadata": {"labels": labels}, "spec": spec}}


def runtime(policy: Json | None, *jobs: Json, name: str = "runtime", **job_set: Any) -> Json:
    """A runtime of this `mlPolicy`."""
    spec: Json = {"template": {"spec": {**job_set, "replicatedJobs": list(jobs) or [node()]}}}
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainingRuntime",
        "metadata": {"name": name, "namespace": "team"},
        "spec": {**({} if policy is None else {"mlPolicy": policy}), **spec},
    }


def train_job(trainer: Json | None, *, name: str = "job", **spec: Any) -> Json:
    """A TrainJob of the runtime `runtime`."""
    given = {} if trainer is None else {"trainer": trainer}
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": name, "namespace": "team"},
        "spec": {"runtimeRef": {"kind": "TrainingRuntime", "name": "runtime"}, **given, **spec},
    }


def documents(*objects: Json) -> list[Document]:
    """Objects as if each were the first of a file."""
    return [Document(f"{number}.yaml", 1, each) for number, each in enumerate(objects)]
