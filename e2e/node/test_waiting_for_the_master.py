"""The init container of PyTorch workers holds them until their master has a name."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from e2e.harness.client import Api, Object, eventually
from e2e.harness.errors import HarnessError
from e2e.node.box import NODE
from e2e.node.images import WAITING
from e2e.node.jobs import KINDS, meeting, programs

PYTORCH = KINDS[0]
LABEL = "e2e.training-operator.test/masters"
NAME = "pytorchjob-meet"


async def test_workers_wait_for_the_name_of_their_master(
    api: Api, namespace: str, kubectl: Callable[..., str], node_operator: None
) -> None:
    pods = f"/api/v1/namespaces/{namespace}/pods"
    await create(api, namespace, {"nodeSelector": {LABEL: "yes"}})

    async def waiting() -> bool:
        with contextlib.suppress(HarnessError):  # the container has yet to start
            return "waiting for master" in kubectl("logs", f"{NAME}-worker-0", "--container=init-pytorch")
        return False

    await eventually(waiting, "the worker looks for its master")
    worker = await api.call("GET", f"{pods}/{NAME}-worker-0")
    assert worker["status"]["phase"] == "Pending"
    master = await api.call("GET", f"{pods}/{NAME}-master-0")
    assert "podIP" not in master["status"]

    await api.patch(f"/api/v1/nodes/{NODE}", {"metadata": {"labels": {LABEL: "yes"}}})
    await succeeded(api, namespace)
    address = (await api.call("GET", f"{pods}/{NAME}-master-0"))["status"]["podIP"]
    assert f"Address: {address}" in kubectl("logs", f"{NAME}-worker-0", "--container=init-pytorch")


async def test_workers_start_after_the_init_containers_of_their_master(
    api: Api, namespace: str, node_operator: None
) -> None:
    download = {"name": "download", "image": WAITING, "command": ["sleep", "3"]}
    await create(api, namespace, {"initContainers": [download]})
    await succeeded(api, namespace)
    ended = {}
    for pod in ("master-0", "worker-0", "worker-1"):
        status = (await api.call("GET", f"/api/v1/namespaces/{namespace}/pods/{NAME}-{pod}"))["status"]
        ended[pod] = status["initContainerStatuses"][0]["state"]["terminated"]["finishedAt"]
    assert ended["master-0"] <= min(ended["worker-0"], ended["worker-1"])


async def test_a_worker_that_has_not_started_when_its_job_ends_is_told_of(
    api: Api, namespace: str, node_operator: None
) -> None:
    job = meeting(PYTORCH)
    master, worker = (job["spec"][PYTORCH.replicas_field][each] for each in ("Master", "Worker"))
    master["template"]["spec"]["containers"][0]["command"] = ["true"]
    worker["template"]["spec"]["initContainers"] = [{"name": "long", "image": WAITING, "command": ["sleep", "1000"]}]
    await api.create(f"/api/v1/namespaces/{namespace}/configmaps", programs())
    await api.create(jobs(namespace), job)
    await succeeded(api, namespace)

    async def told() -> list[str]:
        events = (await api.call("GET", f"/api/v1/namespaces/{namespace}/events"))["items"]
        return [event["message"] for event in events if event["reason"] == "PodsKeptRunning"]

    [message] = await eventually(told, "the event")
    assert message.startswith("2 pod(s) of the finished job have not started")


async def create(api: Api, namespace: str, master: dict[str, Any]) -> None:
    """Create a job that meets, with these fields in the pods of its master."""
    await api.create(f"/api/v1/namespaces/{namespace}/configmaps", programs())
    job = meeting(PYTORCH)
    job["spec"][PYTORCH.replicas_field]["Master"]["template"]["spec"] |= master
    await api.create(jobs(namespace), job)


async def succeeded(api: Api, namespace: str) -> None:
    """Return once the job has succeeded."""

    async def found() -> Object | None:
        status = (await api.call("GET", f"{jobs(namespace)}/{NAME}")).get("status", {})
        return next(
            (c for c in status.get("conditions", ()) if (c["type"], c["status"]) == ("Succeeded", "True")), None
        )

    await eventually(found, "the job succeeds", limit=60)


def jobs(namespace: str) -> str:
    """The collection of PyTorchJobs."""
    return f"/apis/kubeflow.org/v1/namespaces/{namespace}/{PYTORCH.plural}"
