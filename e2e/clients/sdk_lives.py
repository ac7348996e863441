"""Jobs of every kind from creation to deletion through the SDK, on any API server: the session plays the nodes.

`python -m e2e.clients.sdk_lives [TOPIC ...]` in the clients' environment, with KUBECONFIG set;
`e2e/clients/test_sdk.py` says what must come of it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from e2e.clients.sdk_jobs import KINDS, SETTINGS, Session, job, rejected, run, until
from kubernetes import client as k8s

CHECKS = ("created", "running", "restarting", "succeeded", "failed")


def life(kind: str, s: Session) -> dict[str, Any]:
    """A job that is queued, runs, is changed, succeeds, and is deleted in the foreground."""
    client, name = s.of(kind), "mine"
    count = 3 if len(KINDS[kind].types) == 2 else 2

    def checks() -> list[bool]:
        return [getattr(client, f"is_job_{each}")(name, job_kind=kind) for each in CHECKS]

    queue = {"queue_name": "team"} if "queue_name" in SETTINGS else {}
    client.create_job(job(kind, name, workers=2), **queue)
    s.wait(name, "Created", kind=kind)
    s.pods(name, count)
    seen: dict[str, Any] = {"created": checks(), "labels": s.raw(kind, name)["metadata"].get("labels")}
    seen["pods"] = {
        "all": sorted(client.get_job_pod_names(name)),
        "master": client.get_job_pod_names(name, is_master=True),
        "workers": sorted(client.get_job_pod_names(name, replica_type="worker")),
        "second worker": client.get_job_pod_names(name, replica_type="worker", replica_index=1),
        "first": sorted(client.get_job_pod_names(name, replica_index=0)),
    }
    s.play(name, count, "Running")
    s.wait(name, "Running", kind=kind)
    seen["running"] = checks()
    seen["update"] = update(kind, s)
    s.play(name, count, "Succeeded")
    done = s.wait(name, kind=kind)
    seen |= {
        "done": checks(),
        "of the object": [getattr(client, f"is_job_{each}")(job=done, job_kind=kind) for each in CHECKS],
        "conditions": [f"{each.type}={each.status}" for each in client.get_job_conditions(name, job_kind=kind)],
        "succeeded": done.status.replica_statuses[KINDS[kind].types[0]].succeeded,
        "pods at the end": sorted(client.get_job_pod_names(name)),
        "listed": [[each.metadata.name, type(each).__name__] for each in client.list_jobs(job_kind=kind)],
    }
    client.delete_job(name, job_kind=kind, delete_options=k8s.V1DeleteOptions(propagation_policy="Foreground"))
    s.pods(name, 0)
    until(lambda: "(404)" in rejected(lambda: s.raw(kind, name)), "the end of the job")
    seen["left"] = left(s)
    return seen


def update(kind: str, s: Session) -> dict[str, Any]:
    """What an update of a running job with the whole object changes."""
    before = s.raw(kind, "mine")
    found = s.client.get_job("mine", job_kind=kind)
    found.spec.run_policy.backoff_limit = 7
    s.client.update_job(found, "mine", job_kind=kind)
    until(lambda: s.raw(kind, "mine")["status"].get("observedGeneration") == 2, "what the operator says of the update")
    after = s.raw(kind, "mine")
    for each in (before, after):
        del each["status"]["observedGeneration"]
    return {
        "limit": after["spec"]["runPolicy"]["backoffLimit"],
        "same status": after["status"] == before["status"],
        "same replicas": after["spec"][KINDS[kind].wire_field] == before["spec"][KINDS[kind].wire_field],
    }


def left(s: Session) -> list[str]:
    """What a deleted job has left behind in its namespace."""
    rights = k8s.RbacAuthorizationV1Api()
    lists = (
        s.core.list_namespaced_service,
        s.core.list_namespaced_config_map,
        rights.list_namespaced_role,
        rights.list_namespaced_role_binding,
    )

    def found() -> list[str]:
        objects: list[Any] = [each for every in lists for each in every(s.namespace).items]
        return [each.metadata.name for each in objects]

    # Of a real cluster, every namespace has this one.
    until(lambda: set(found()) <= {"kube-root-ca.crt"}, "the end of what the job had")
    return [name for name in found() if name != "kube-root-ca.crt"]


def restarting(s: Session) -> dict[str, Any]:
    """A master that ends with an exit code after which it is run again."""
    made = job("PyTorchJob", "restarting")
    made.spec.pytorch_replica_specs["Master"].restart_policy = "ExitCode"
    s.client.create_job(made)
    s.play("restarting", 2, "Running")
    s.wait("restarting", "Running")
    ended = {"name": "pytorch", "image": "i", "imageID": "i", "ready": False, "restartCount": 0}
    ended["state"] = {"terminated": {"exitCode": 130}}
    status = {"status": {"phase": "Failed", "containerStatuses": [ended]}}
    s.core.patch_namespaced_pod_status("restarting-master-0", s.namespace, status)
    s.wait("restarting", "Restarting")
    return {
        "restarting": s.client.is_job_restarting("restarting"),
        "running": s.client.is_job_running("restarting"),
        "conditions": [each.type for each in s.client.get_job_conditions("restarting")],
    }


def suspended(s: Session) -> dict[str, Any]:
    """A job that is made suspended, resumed and scaled through updates, and suspended again."""
    client = s.client
    client.create_job(job("PyTorchJob", "paused", suspend=True))
    s.wait("paused", "Created")
    none = client.get_job_pods("paused")
    found = client.get_job("paused")
    found.spec.run_policy.suspend = False
    found.spec.pytorch_replica_specs["Worker"].replicas = 3
    client.update_job(found, "paused")
    resumed = len(s.pods("paused", 4))
    found = client.get_job("paused")
    found.spec.run_policy.suspend = True
    client.update_job(found, "paused")
    s.pods("paused", 0)
    return {
        "before": len(none),
        "resumed": resumed,
        "not running": client.is_job_running("paused"),
        "waiting for it": rejected(lambda: s.wait("paused", "Suspended")),
    }


def worker_only_paddle(s: Session) -> dict[str, Any]:
    """The master pod of a PaddleJob that has workers alone."""
    made = job("PaddleJob", "workers", workers=2)
    del made.spec.paddle_replica_specs["Master"]
    s.of("PaddleJob").create_job(made)
    s.pods("workers", 2)
    return {"master": s.client.get_job_pod_names("workers", is_master=True)}


def two_kinds(s: Session) -> dict[str, Any]:
    """Two jobs of different kinds with one name."""
    s.of("TFJob").create_job(job("TFJob", "same"))
    s.pods("same", 2)
    s.of("XGBoostJob").create_job(job("XGBoostJob", "same"))
    s.pods("same", 3)

    def warned() -> list[str]:
        events = s.core.list_namespaced_event(s.namespace).items
        return [each.message for each in events if each.reason == "NameTaken"]

    return {"pods": sorted(s.client.get_job_pod_names("same")), "warning": until(warned, "a warning")}


TOPICS: dict[str, Callable[[Session], Any]] = {
    **{kind.lower(): partial(life, kind) for kind in KINDS},
    "restarting": restarting,
    "suspended": suspended,
    "worker-only-paddle": worker_only_paddle,
    "two-kinds": two_kinds,
}

if __name__ == "__main__":
    run(TOPICS)
