"""What the SDK's models make of stored jobs, whoever has written them, on any API server with the operator.

`python -m e2e.clients.sdk_models [TOPIC ...]` in the clients' environment, with KUBECONFIG set;
`e2e/clients/test_sdk_models.py` says what must come of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from e2e.clients.sdk_jobs import KINDS, Session, rejected, run, until
from kubernetes.client import ApiException

Json = dict[str, Any]

POLICY: Json = {
    "cleanPodPolicy": "All",
    "ttlSecondsAfterFinished": 600,
    "activeDeadlineSeconds": 600,
    "backoffLimit": 3,
    "suspend": False,
    "managedBy": "kubeflow.org/training-operator",
    "schedulingPolicy": {"minAvailable": 2, "queue": "q", "priorityClass": "p", "scheduleTimeoutSeconds": 60},
}
OWN: dict[str, Json] = {
    "PyTorchJob": {
        "nprocPerNode": "2",
        "elasticPolicy": {
            "minReplicas": 1,
            "maxReplicas": 3,
            "rdzvBackend": "c10d",
            "rdzvPort": 29400,
            "rdzvId": "x",
            "rdzvConf": [{"key": "timeout", "value": "30"}],
            "maxRestarts": 5,
            "metrics": [],
        },
    },
    "TFJob": {"successPolicy": "AllWorkers", "enableDynamicWorker": True},
    "XGBoostJob": {},
    "MPIJob": {"slotsPerWorker": 2, "mainContainer": "mpi", "cleanPodPolicy": "Running"},
    "PaddleJob": {"elasticPolicy": {"minReplicas": 1, "maxReplicas": 3, "maxRestarts": 5}},
    "JAXJob": {},
}
"""Every field of a kind's own."""


def stored(kind: str, name: str, policy: Json | None, **own: Any) -> Json:
    """A job as `kubectl` users write it; without `policy` there is no `runPolicy`."""
    container: Json = {
        "name": KINDS[kind].container,
        "image": "example.com/train:1",
        "env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
        "resources": {"limits": {"cpu": 2, "memory": "1Gi"}},
        "volumeMounts": [{"name": "work", "mountPath": "/work"}],
    }
    template = {
        "metadata": {"labels": {"team": "a"}, "annotations": {"note": "b"}},
        "spec": {
            "containers": [container],
            "volumes": [{"name": "work", "emptyDir": {}}],
            "tolerations": [{"key": "gpu", "operator": "Exists"}],
            "terminationGracePeriodSeconds": 5,
        },
    }
    replica = {"replicas": 1, "restartPolicy": "Never", "template": template}
    replicas = dict.fromkeys(KINDS[kind].types, replica)
    spec: Json = {KINDS[kind].wire_field: replicas, **({} if policy is None else {"runPolicy": policy}), **own}
    return {"apiVersion": "kubeflow.org/v1", "kind": kind, "metadata": {"name": name}, "spec": spec}


def create(s: Session, body: Json) -> Json:
    """Create a job past the SDK's models."""
    plural = f"{body['kind'].lower()}s"
    made: Json = s.custom.create_namespaced_custom_object("kubeflow.org", "v1", s.namespace, plural, body)
    return made


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every value of an object with its path; times in one notation."""
    if isinstance(value, dict) and value:
        for key, each in value.items():
            yield from leaves(each, f"{path}.{key}" if path else key)
    elif isinstance(value, list) and value:
        for index, each in enumerate(value):
            yield from leaves(each, f"{path}[{index}]")
    else:
        yield path, value.replace("+00:00", "Z") if isinstance(value, str) else value


def round_trip(kind: str, s: Session) -> Json:
    """A running job with every field there is: what is stored against what the models give back."""
    create(s, stored(kind, "full", POLICY, **OWN[kind]))
    s.play("full", len(KINDS[kind].types), "Running")
    s.wait("full", "Running", kind=kind)

    def both() -> tuple[Any, Any] | None:
        """The job of the API and the model's, of one version: it is running, but not all of its pods may be counted."""
        raw, read = s.raw(kind, "full"), s.client.get_job("full", job_kind=kind)
        return (raw, read) if raw["metadata"]["resourceVersion"] == read.metadata.resource_version else None

    raw, read = until(both, "the job to stay as it is")
    there, back = dict(leaves(raw)), dict(leaves(s.client.api_client.sanitize_for_serialization(read)))
    return {
        "fields": sum(path.startswith("spec") for path in there),
        "lost": sorted(path for path in there.keys() - back.keys() if not path.startswith("metadata.managedFields")),
        "invented": sorted(back.keys() - there.keys()),
        "changed": sorted(path for path in there.keys() & back.keys() if there[path] != back[path]),
        "listed": [each.metadata.uid == read.metadata.uid for each in s.client.list_jobs(job_kind=kind)],
    }


def without_policy(s: Session) -> Json:
    """Jobs of all kinds as most examples of v1 write them: no `runPolicy`."""
    seen: Json = {}
    for kind in KINDS:
        made = create(s, stored(kind, f"plain-{kind.lower()}", None))
        read = s.client.get_job(made["metadata"]["name"], job_kind=kind)
        listed = [each.metadata.name for each in s.client.list_jobs(job_kind=kind)]
        seen[kind] = [made["spec"]["runPolicy"], read.kind, listed]
    return seen


def written(s: Session, name: str, change: Callable[[Json], None]) -> str:
    """Create a PyTorchJob with a change past the models, then read it: `fine`, or what went wrong where."""
    body = stored("PyTorchJob", name, {"suspend": True})
    change(body)
    try:
        create(s, body)
    except ApiException as error:
        return f"not created: {error.body}"
    try:
        read = s.client.get_job(name)
    except RuntimeError as error:
        s.custom.delete_namespaced_custom_object("kubeflow.org", "v1", s.namespace, "pytorchjobs", name)
        return f"not read: {error}"
    return f"fine: {read.spec.nproc_per_node} {read.spec.run_policy.backoff_limit}"


def traps(s: Session) -> dict[str, str]:
    """What the deserialiser stumbles over, and what cannot be stored in the first place."""
    cpu = {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}}}
    elastic = {"minReplicas": 1, "maxReplicas": 2, "metrics": [cpu]}
    gang = {"minResources": {"cpu": "1"}}

    def spec(**fields: Any) -> Callable[[Json], None]:
        return lambda body: body["spec"].update(fields)

    def policy(**fields: Any) -> Callable[[Json], None]:
        return lambda body: body["spec"]["runPolicy"].update(fields)

    return {
        "no replicas": written(s, "a", lambda body: body["spec"].pop("pytorchReplicaSpecs")),
        "null replicas": written(s, "b", spec(pytorchReplicaSpecs=None)),
        "null policy": written(s, "c", spec(runPolicy=None)),
        "metrics": written(s, "d", spec(elasticPolicy=elastic)),
        "minimal resources": written(s, "e", policy(schedulingPolicy=gang)),
        "processes as a number": written(s, "f", spec(nprocPerNode=2)),
        "processes": written(s, "g", spec(nprocPerNode="2")),
        "limit as text": written(s, "h", policy(backoffLimit="3")),
        "limit": written(s, "i", policy(backoffLimit=3)),
    }


def statuses(s: Session) -> Json:
    """Statuses that could be there: written past the operator, of a job that it leaves alone."""
    name = "stored"
    create(s, stored("PyTorchJob", name, {"managedBy": "kueue.x-k8s.io/multikueue"}))

    def look(status: Json) -> str:
        plural = "pytorchjobs"
        try:
            s.custom.patch_namespaced_custom_object_status(
                "kubeflow.org", "v1", s.namespace, plural, name, {"status": status}
            )
        except ApiException as error:
            return f"not stored: {error.body}"
        return rejected(lambda: s.client.get_job(name)) + f", {len(s.client.get_job_conditions(name))} conditions"

    return {
        "none": look({}),
        "no conditions": look({"conditions": []}),
        "an empty time": look({"startTime": ""}),
        "a fraction of a second": look({"startTime": "2026-01-01T00:00:00.5Z"}),
        "unknown fields": look({"observedGeneration": 1, "waiting": {"reason": "Quota", "message": "m"}}),
        "empty counters": look({"replicaStatuses": {"Worker": {}}}),
        "a condition": look({"conditions": [{"type": "Created", "status": "True"}]}),
        "a condition without status": look({"conditions": [{"type": "Created"}]}),
    }


def autoscaled(s: Session) -> Json:
    """An elastic job with metrics: the operator keeps them out of sight but for the autoscaler, and writes no spec."""
    cpu = {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}}}
    body = stored("PyTorchJob", "scaled", POLICY, elasticPolicy={"minReplicas": 1, "maxReplicas": 2, "metrics": [cpu]})
    made = create(s, body)["spec"]
    s.pods("scaled", 2)
    until(lambda: s.raw("PyTorchJob", "scaled").get("status"), "a status")
    return {"same spec": s.raw("PyTorchJob", "scaled")["spec"] == made, "list": rejected(s.client.list_jobs)}


TOPICS: dict[str, Callable[[Session], Any]] = {
    **{kind.lower(): partial(round_trip, kind) for kind in KINDS},
    "without-policy": without_policy,
    "traps": traps,
    "statuses": statuses,
    "autoscaled": autoscaled,
}

if __name__ == "__main__":
    run(TOPICS)
