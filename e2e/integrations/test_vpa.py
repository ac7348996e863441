"""Jobs under a stand-in for the vertical pod autoscaler, its webhook and its updater; the test is the node."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest
from e2e.harness.client import Api, Object, eventually
from e2e.harness.cluster import Cluster
from e2e.harness.injector import LABEL, installed
from e2e.harness.jobs import REPLICAS, Namespace, typical
from e2e.harness.operator import Operator, rests
from e2e.jobs.scene import NAME, Scene, ready_node, training
from e2e.support import marks
from e2e.support.every_kind import lead
from e2e.support.profiles import often

WEBHOOK = "autoscaler"
SCOPE = "extension.training.kubeflow.org/restart-scope"


class Autoscaler:
    """A recommendation for workers, put into pods as they are created; pods that differ from it are evicted."""

    def __init__(self, cpu: str) -> None:
        self.cpu = cpu

    def admit(self, pod: Object) -> list[Object]:
        """Patch of a pod to be created, as the VPA's webhook makes it; only workers are its target."""
        if pod["metadata"].get("labels", {}).get("training.kubeflow.org/replica-type") != "worker":
            return []
        annotations = {**pod["metadata"].get("annotations", {}), "vpaUpdates": "container 0: cpu request"}
        return [
            {"op": "add", "path": "/metadata/annotations", "value": annotations},
            {"op": "replace", "path": "/spec/containers/0/resources/requests/cpu", "value": self.cpu},
        ]

    async def update(self, scene: Scene) -> str | None:
        """Evict one pod of the target that is not as recommended, and return its name; None if all are."""
        selector = (await scene.api.call("GET", f"{scene.path}/scale"))["status"]["selector"]
        pods = await scene.api.call("GET", f"/api/v1/namespaces/{scene.jobs.name}/pods?labelSelector={selector}")
        different = [pod["metadata"]["name"] for pod in pods["items"] if requested(pod) != self.cpu]
        if not different:
            return None
        await scene.evict(different[0])
        return str(different[0])


def requested(pod: Object) -> str:
    """The CPUs that a pod requests."""
    return str(pod["spec"]["containers"][0]["resources"]["requests"]["cpu"])


@pytest.fixture(scope="module")
def autoscaler(cluster: Cluster) -> Iterator[Autoscaler]:
    autoscaler = Autoscaler("1")
    with installed(cluster, WEBHOOK, autoscaler.admit):
        yield autoscaler


@pytest.fixture
async def scene(autoscaler: Autoscaler, operator: Operator, api: Api, namespace: str) -> AsyncIterator[Scene]:
    """A namespace whose pods go through the webhook, and a node."""
    autoscaler.cpu = "1"
    await api.patch(f"/api/v1/namespaces/{namespace}", {"metadata": {"labels": {LABEL: WEBHOOK}}})
    probe = wanting_cpu(training("JAXJob", "Never"))["spec"]["jaxReplicaSpecs"]["Worker"]["template"]["spec"]
    labels = {"training.kubeflow.org/replica-type": "worker"}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "probe", "labels": labels}, "spec": probe}

    async def works() -> bool:
        """The API server takes a moment to learn of a webhook."""
        return requested(await api.create(f"/api/v1/namespaces/{namespace}/pods?dryRun=All", pod)) == "1"

    await eventually(works, "the webhook")
    async with ready_node(api) as node:
        yield Scene(api, namespace, node)


def wanting_cpu(body: Object) -> Object:
    """The job with requests of its own, which are not what the autoscaler recommends."""
    for spec in body["spec"][REPLICAS[body["kind"]]].values():
        spec["template"]["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "4"}}
    return body


async def is_noticed(scene: Scene, evicted: str) -> None:
    """Wait until the operator says that a pod which still goes is replaced, and not counted."""
    path = f"/api/v1/namespaces/{scene.jobs.name}/events?fieldSelector=reason=PodDisrupted"
    wanted = (f"pod {evicted} was disrupted (EvictionByEvictionAPI)", "this does not count as a restart")

    async def told() -> bool:
        events = (await scene.api.call("GET", path))["items"]
        return any(all(words in event["message"] for words in wanted) for event in events)

    await eventually(told, f"an event about {evicted}")


async def comes_back(scene: Scene, evicted: str) -> set[str]:
    """Play the kubelet until all pods run and the evicted one is another; returns the names of those that are new."""
    before = {pod["metadata"]["name"]: pod["metadata"]["uid"] for pod in await scene.jobs.pods(NAME, leaving=True)}

    async def settled() -> set[str] | None:
        for pod in await scene.jobs.pods(NAME, leaving=True):
            if "deletionTimestamp" in pod["metadata"]:
                await scene.stopped(pod["metadata"]["name"])
        await scene.place()
        pods = await scene.jobs.pods(NAME, leaving=True)
        if any("deletionTimestamp" in pod["metadata"] or pod["status"]["phase"] != "Running" for pod in pods):
            return None
        now = {pod["metadata"]["name"]: pod["metadata"]["uid"] for pod in pods}
        return {name for name in now if now[name] != before[name]} if now.keys() == before.keys() else None

    async def returned() -> set[str] | None:
        new = await settled()
        return new if new and evicted in new else None

    return await eventually(returned, f"another pod {evicted}")


@pytest.mark.parametrize(
    ("kind", "scope"),
    [("PyTorchJob", "pod"), pytest.param("PaddleJob", "pod", marks=pytest.mark.weekly), ("JAXJob", "job")],
)
@marks.bare  # webhooks are called by the real API server, on this machine
async def test_pods_that_an_autoscaler_evicts_come_back_as_it_wants_them(
    scene: Scene, operator: Operator, autoscaler: Autoscaler, kind: str, scope: str
) -> None:
    """One eviction for each worker, or for all that restart together; no restart is counted, and then there is rest."""
    body = wanting_cpu(training(kind, "OnFailure"))
    body["metadata"]["annotations"] = {SCOPE: scope}
    body["spec"]["runPolicy"]["backoffLimit"] = 1
    await scene.start(body)
    requests = {pod["metadata"]["name"]: requested(pod) for pod in await scene.jobs.pods(NAME)}
    masters = {} if kind == "JAXJob" else {"train-master-0": "4"}
    assert requests == masters | {"train-worker-0": "1", "train-worker-1": "1"}
    autoscaler.cpu = "2"
    new = []
    while (evicted := await autoscaler.update(scene)) is not None:
        await is_noticed(scene, evicted)
        new.append(await comes_back(scene, evicted))
        await scene.jobs.condition(body, "Running")
    assert new == ([set(requests)] if scope == "job" else [{"train-worker-0"}, {"train-worker-1"}])
    assert "restarts" not in (await scene.status())["replicaStatuses"]["Worker"]
    pods = await scene.jobs.pods(NAME)
    await rests(operator, scene.api, scene.path)
    assert await scene.jobs.pods(NAME) == pods
    told = await scene.api.call("GET", f"/api/v1/namespaces/{scene.jobs.name}/events")
    assert [event for event in told["items"] if event["reason"] == "TemplateChanged"] == []
    await scene.jobs.set_phase(NAME, "Succeeded")
    await scene.jobs.condition(body, "Succeeded")


@pytest.mark.parametrize("kind", often(["PyTorchJob", "PaddleJob", "JAXJob"], "JAXJob"))
async def test_a_vertical_autoscaler_finds_the_pods_of_a_job(operator: Operator, jobs: Namespace, kind: str) -> None:
    """It asks the scale subresource of its target for a selector; the pods that this finds are the workers."""
    body = typical("scaled", kind, workers=2)
    await jobs.create(body)
    await jobs.placed(body)

    async def selector() -> str:
        found = await jobs.api.call("GET", f"{jobs.jobs(kind)}/scaled/scale")
        return str(found.get("status", {}).get("selector", ""))

    chosen = await eventually(selector, "a selector")
    found = await jobs.api.call("GET", f"/api/v1/namespaces/{jobs.name}/pods?labelSelector={chosen}")
    assert [pod["metadata"]["name"] for pod in found["items"]] == ["scaled-worker-0", "scaled-worker-1"]
    assert lead(kind) == "Worker" or len(await jobs.pods("scaled")) == 3
