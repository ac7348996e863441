"""The init container of PyTorch workers holds them until their master has a name."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

from e2e.harness.client import Api, Object, eventually
from e2e.harness.errors import HarnessError
from e2e.harness.operator import Operator
from e2e.node.box import NODE
from e2e.node.jobs import KINDS, meeting, programs

PYTORCH = KINDS[0]
LABEL = "e2e.training-operator.test/masters"
NAME = "pytorchjob-meet"


async def test_workers_wait_for_the_name_of_their_master(
    api: Api, namespace: str, kubectl: Callable[..., str], node_operator: Operator
) -> None:
    pods = f"/api/v1/namespaces/{namespace}/pods"
    await api.create(f"/api/v1/namespaces/{namespace}/configmaps", programs())
    job = meeting(PYTORCH)
    job["spec"][PYTORCH.replicas_field]["Master"]["template"]["spec"]["nodeSelector"] = {LABEL: "yes"}
    path = f"/apis/kubeflow.org/v1/namespaces/{namespace}/{PYTORCH.plural}"
    await api.create(path, job)

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

    async def succeeded() -> Object | None:
        status = (await api.call("GET", f"{path}/{NAME}")).get("status", {})
        return next(
            (c for c in status.get("conditions", ()) if (c["type"], c["status"]) == ("Succeeded", "True")), None
        )

    await eventually(succeeded, "the job succeeds once the master has a node", limit=60)
    address = (await api.call("GET", f"{pods}/{NAME}-master-0"))["status"]["podIP"]
    assert f"Address: {address}" in kubectl("logs", f"{NAME}-worker-0", "--container=init-pytorch")
