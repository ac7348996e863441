"""Jobs in a mesh: a webhook adds a proxy to each pod, as Istio's does, in either way; the test is the node."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest
from e2e.harness.client import Api, Object, eventually
from e2e.harness.cluster import Cluster
from e2e.harness.injector import LABEL, installed
from e2e.harness.jobs import CONTAINERS, PLURALS, REPLICAS, Namespace, typical
from e2e.harness.operator import Operator
from e2e.integrations.sidecars import ended, tell
from e2e.support import marks, objects

pytestmark = marks.bare  # webhooks are called by the real API server, on this machine

PROXY = {"name": "istio-proxy", "image": "example.com/proxy:1"}
OPT_OUT = "sidecar.istio.io/inject"
PORTS = {kind: f"{kind.lower()}-port" for kind in ("PyTorchJob", "TFJob", "XGBoostJob", "JAXJob")}
PORTS["PaddleJob"] = "master"


def classic(pod: Object) -> list[Object]:
    """The proxy as one container more, unless the pod opts out."""
    if pod["metadata"].get("labels", {}).get(OPT_OUT) == "false":
        return []
    return [{"op": "add", "path": "/spec/containers/0", "value": PROXY}]


def native(pod: Object) -> list[Object]:
    """The proxy as an init container that goes on beside the others."""
    proxy = {**PROXY, "restartPolicy": "Always"}
    has = "initContainers" in pod["spec"]
    return [{"op": "add", "path": "/spec/initContainers" + ("/0" if has else ""), "value": proxy if has else [proxy]}]


@pytest.fixture(scope="module", autouse=True)
def webhooks(cluster: Cluster, operator: Operator) -> Iterator[None]:
    """Both ways to add a proxy."""
    with installed(cluster, "classic", classic), installed(cluster, "native", native):
        yield


async def mesh(api: Api, name: str, webhook: str) -> Namespace:
    """Give a namespace's pods a proxy."""
    await api.patch(f"/api/v1/namespaces/{name}", {"metadata": {"labels": {LABEL: webhook}}})

    async def works() -> bool:
        """The API server takes a moment to learn of a webhook."""
        answer = await api.create(f"/api/v1/namespaces/{name}/pods?dryRun=All", objects.pod("probe"))
        return PROXY["name"] in json.dumps(answer["spec"])

    await eventually(works, f"webhook {webhook}")
    return Namespace(api, name)


async def created(namespace: Namespace, body: Object) -> list[Object]:
    """Create a job and wait for its pods."""
    await namespace.create(body)
    return await namespace.placed(body)


async def started(namespace: Namespace, body: Object) -> list[Object]:
    """Create a job and let its pods run."""
    pods = await created(namespace, body)
    for pod in pods:
        await tell(namespace.api, pod, {})
    await namespace.condition(body, "Running")
    return pods


async def life(namespace: Namespace, kind: str, code: int, condition: str) -> None:
    """Training containers that end with `code` beside proxies that go on give the job this condition."""
    body = typical(f"{kind.lower()}-{code}", kind)
    for pod in await started(namespace, body):
        assert [each["name"] for each in pod["spec"]["containers"]] == [PROXY["name"], CONTAINERS[kind]]
        await tell(namespace.api, pod, {CONTAINERS[kind]: ended(code)})
    await namespace.condition(body, condition)


@pytest.mark.shows("INT-097")
async def test_training_containers_decide_while_classic_sidecars_run(api: Api, namespace: str) -> None:
    jobs = await mesh(api, namespace, "classic")
    async with asyncio.TaskGroup() as tasks:
        for kind in PLURALS:
            tasks.create_task(life(jobs, kind, 0, "Succeeded"))
            tasks.create_task(life(jobs, kind, 1, "Failed"))


@pytest.mark.shows("INT-103")
async def test_restarts_of_native_sidecars_do_not_count(api: Api, namespace: str) -> None:
    jobs = await mesh(api, namespace, "native")

    async def of(kind: str) -> None:
        body = typical(kind.lower(), kind)
        body["spec"]["runPolicy"]["backoffLimit"] = 2
        for spec in body["spec"][REPLICAS[kind]].values():
            spec["restartPolicy"] = "OnFailure"
        pods = await started(jobs, body)
        for pod in pods:
            await tell(api, pod, {}, proxy_restarts=50)
        for pod in pods:
            await tell(api, pod, {CONTAINERS[kind]: ended(0), PROXY["name"]: ended(143)}, "Succeeded", 50)
        await jobs.condition(body, "Succeeded")
        status = (await api.call("GET", f"{jobs.jobs(kind)}/{kind.lower()}"))["status"]
        assert sum(each.get("restarts", 0) for each in status["replicaStatuses"].values()) == 0

    async with asyncio.TaskGroup() as tasks:
        for kind in PLURALS:
            tasks.create_task(of(kind))


@pytest.mark.shows("INT-102", "INT-104")
async def test_the_template_opts_out_and_ports_have_names_without_a_protocol(api: Api, namespace: str) -> None:
    jobs = await mesh(api, namespace, "classic")

    async def of(kind: str) -> None:
        body = typical(kind.lower(), kind)
        replicas: dict[str, Any] = body["spec"][REPLICAS[kind]]
        for spec in replicas.values():
            spec["template"] = {"metadata": {"labels": {OPT_OUT: "false"}}, **spec["template"]}
        pods = await created(jobs, body)
        for pod in pods:
            assert [each["name"] for each in pod["spec"]["containers"]] == [CONTAINERS[kind]]
            ports = [port["name"] for port in pod["spec"]["containers"][0].get("ports", ())]
            assert ports == [PORTS[kind]] if kind in PORTS else not ports
        selector = f"labelSelector=training.kubeflow.org/job-name={kind.lower()}"
        services = (await api.call("GET", f"/api/v1/namespaces/{namespace}/services?{selector}"))["items"]
        assert [[port["name"] for port in each["spec"]["ports"]] for each in services] == (
            [[PORTS[kind]]] * len(pods) if kind in PORTS else []
        )
        assert not any("appProtocol" in port for each in services for port in each["spec"]["ports"])

    async with asyncio.TaskGroup() as tasks:
        for kind in PLURALS:
            tasks.create_task(of(kind))
