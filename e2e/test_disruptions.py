"""Evicted pods, lost nodes and changed templates on a real API server; the test is the kubelet and the nodes."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from e2e.harness.client import Api, Object, eventually
from e2e.harness.cluster import Cluster
from e2e.harness.jobs import REPLICAS, Namespace, job
from e2e.harness.operator import Operator, running_operator

NODES = "/api/v1/nodes"
ANNOTATION = "extension.training.kubeflow.org/disruptions"
LOW = "The node was low on resource: memory."
PATIENCE = "2s"
NAME = "train"


@pytest.fixture(scope="module")
def operator(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Operator]:
    flag = f"--replace-pods-on-lost-nodes-after={PATIENCE}"
    log = tmp_path_factory.mktemp("operator") / "operator.log"
    with running_operator(cluster.kubeconfig, log, flag) as operator:
        yield operator


@pytest.fixture
async def node(api: Api) -> AsyncIterator[str]:
    """A node that is ready, as far as anybody says."""
    name = f"e2e-{secrets.token_hex(4)}"
    await api.create(NODES, {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}})
    await set_ready(api, name, "True")
    yield name
    await api.delete(f"{NODES}/{name}")


async def set_ready(api: Api, node: str, status: str) -> None:
    since = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    ready = {"type": "Ready", "status": status, "reason": "Test", "message": "", "lastTransitionTime": since}
    await api.patch(f"{NODES}/{node}/status", {"status": {"conditions": [ready]}})


@pytest.fixture
def scene(operator: Operator, api: Api, namespace: str, node: str) -> Scene:
    return Scene(api, namespace, node)


class Scene:
    """A job whose pods are on a node and run."""

    def __init__(self, api: Api, namespace: str, node: str) -> None:
        self.api, self.node, self.jobs = api, node, Namespace(api, namespace)
        self.body: Object = {}
        self._core = f"/api/v1/namespaces/{namespace}"

    async def start(self, body: Object) -> None:
        """Create the job; its pods run on the node."""
        self.body = body
        await self.jobs.create(body)
        replicas = body["spec"][REPLICAS[body["kind"]]]
        await self.jobs.pods_reach(NAME, sum(spec["replicas"] for spec in replicas.values()))
        for pod in await self.jobs.pods(NAME):
            meta = {"name": pod["metadata"]["name"]}
            binding = {"apiVersion": "v1", "kind": "Binding", "metadata": meta}
            target = {"apiVersion": "v1", "kind": "Node", "name": self.node}
            await self.api.create(self.pod(meta["name"], "binding"), {**binding, "target": target})
        await self.jobs.set_phase(NAME, "Running")
        await self.jobs.condition(self.body, "Running")

    def pod(self, name: str, subresource: str = "") -> str:
        return f"{self._core}/pods/{name}" + (f"/{subresource}" if subresource else "")

    async def uid(self, name: str) -> str:
        return str((await self.api.call("GET", self.pod(name)))["metadata"]["uid"])

    async def replaced(self, name: str, before: str) -> None:
        """Wait for another pod of the name, which runs then."""

        async def has_changed() -> bool:
            pod = await self.api.get(self.pod(name))
            return pod is not None and pod["metadata"]["uid"] != before and "deletionTimestamp" not in pod["metadata"]

        await eventually(has_changed, f"another pod {name}")

    async def event(self, reason: str) -> str:
        """The message of the only event with this reason, once it is there."""
        path = f"{self._core}/events?fieldSelector=reason={reason}"

        async def told() -> list[Object]:
            return list((await self.api.call("GET", path))["items"])

        (only,) = await eventually(told, f"an event {reason}")
        assert only.get("count", 1) == 1
        return str(only["message"])

    @property
    def _path(self) -> str:
        return f"{self.jobs.jobs(self.body['kind'])}/{NAME}"

    async def status(self) -> Any:
        return (await self.api.call("GET", self._path))["status"]

    async def patch(self, patch: Object) -> None:
        await self.api.patch(self._path, patch)


def training(kind: str, policy: str, mode: str = "") -> Object:
    """A job of that kind with two workers and, where the kind has one, a master."""
    body = job(NAME, kind, Worker=2) if kind == "JAXJob" else job(NAME, kind, Master=1, Worker=2)
    body["metadata"]["annotations"] = {ANNOTATION: mode} if mode else {}
    for spec in body["spec"][REPLICAS[kind]].values():
        spec["restartPolicy"] = policy
    return body


@pytest.mark.parametrize(
    ("kind", "policy", "mode", "restarts"),
    [("JAXJob", "OnFailure", "", 0), ("XGBoostJob", "ExitCode", "", 0), ("XGBoostJob", "Never", "count", 1)],
)
async def test_an_evicted_pod_is_replaced(scene: Scene, kind: str, policy: str, mode: str, restarts: int) -> None:
    """Through the API, as `kubectl drain` does: the pod goes when its kubelet says so."""
    await scene.start(training(kind, policy, mode))
    before = await scene.uid("train-worker-1")
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "train-worker-1"}}
    await scene.api.create(scene.pod("train-worker-1", "eviction"), eviction)
    consequence = "which counts as a restart" if restarts else "which does not count as a restart"
    told = await scene.event("PodDisrupted")
    assert told == f"pod train-worker-1 was disrupted (EvictionByEvictionAPI): it is replaced, {consequence}"
    await scene.api.call("DELETE", scene.pod("train-worker-1"), {"gracePeriodSeconds": 0})
    await scene.replaced("train-worker-1", before)
    await scene.jobs.set_phase(NAME, "Running")
    await scene.jobs.condition(scene.body, "Running")
    assert (await scene.status())["replicaStatuses"]["Worker"].get("restarts", 0) == restarts


@pytest.mark.parametrize("disruption", ["condition", "reason"])
async def test_a_pod_that_its_kubelet_ends_is_replaced_although_its_exit_code_is_permanent(
    scene: Scene, disruption: str
) -> None:
    await scene.start(training("PyTorchJob", "ExitCode"))
    before = await scene.uid("train-worker-0")
    ended = {"terminated": {"exitCode": 1, "startedAt": "2026-01-01T00:00:00Z", "finishedAt": "2026-01-01T00:01:00Z"}}
    state = {"name": "pytorch", "image": "i", "imageID": "", "ready": False, "restartCount": 0, "state": ended}
    condition = {"type": "DisruptionTarget", "status": "True", "reason": "TerminationByKubelet"}
    why = {"conditions": [condition]} if disruption == "condition" else {"reason": "Evicted", "message": LOW}
    await scene.api.patch(
        scene.pod("train-worker-0", "status"), {"status": {"phase": "Failed", "containerStatuses": [state], **why}}
    )
    await scene.replaced("train-worker-0", before)
    words = "TerminationByKubelet" if disruption == "condition" else f"Evicted: {LOW}"
    assert f"disrupted ({words})" in await scene.event("PodDisrupted")
    assert "restarts" not in (await scene.status())["replicaStatuses"]["Worker"]


async def test_a_job_that_must_not_restart_fails_and_says_why(scene: Scene) -> None:
    await scene.start(training("JAXJob", "Never"))
    patch = {"status": {"phase": "Failed", "reason": "Evicted", "message": LOW}}
    await scene.api.patch(scene.pod("train-worker-0", "status"), patch)
    failed = await scene.jobs.condition(scene.body, "Failed")
    assert failed["message"].endswith(f"Pod train-worker-0: Evicted: {LOW}")


@pytest.mark.parametrize("loss", ["not ready", "unknown", "gone"])
async def test_pods_on_a_lost_node_are_replaced(scene: Scene, loss: str) -> None:
    """One of them has succeeded and stays; one hangs in its deletion; one runs, for all that is known."""
    await scene.start(training("PyTorchJob", "OnFailure"))
    await scene.api.patch(scene.pod("train-worker-0", "status"), {"status": {"phase": "Succeeded"}})

    async def completed() -> bool:
        return bool((await scene.status())["replicaStatuses"]["Worker"].get("completedIndexes") == "0")

    await eventually(completed, "a completed worker")
    before = {name: await scene.uid(name) for name in ("train-master-0", "train-worker-0", "train-worker-1")}
    await scene.api.call("DELETE", scene.pod("train-worker-1"), {"gracePeriodSeconds": 1})
    if loss == "gone":
        await scene.api.delete(f"{NODES}/{scene.node}")
    else:
        await set_ready(scene.api, scene.node, "False" if loss == "not ready" else "Unknown")
    await scene.replaced("train-master-0", before["train-master-0"])
    await scene.replaced("train-worker-1", before["train-worker-1"])
    assert "NodeLost" in await scene.event("PodDisrupted")
    assert await scene.uid("train-worker-0") == before["train-worker-0"]
    assert "restarts" not in (await scene.status())["replicaStatuses"]["Master"]


async def test_a_changed_template_is_told_once(scene: Scene) -> None:
    await scene.start(training("JAXJob", "OnFailure"))
    replica = scene.body["spec"]["jaxReplicaSpecs"]["Worker"]
    container = {**replica["template"]["spec"]["containers"][0], "image": "example.com/train:2"}
    template = {"spec": {**replica["template"]["spec"], "containers": [container]}}
    await scene.patch({"spec": {"jaxReplicaSpecs": {"Worker": {"template": template}}}})
    text = "The pod template of Worker has changed; pods that run keep the old one"
    assert await scene.event("TemplateChanged") == text
    await scene.patch({"spec": {"runPolicy": {"backoffLimit": 9}}})

    async def observed() -> bool:
        return bool((await scene.status())["observedGeneration"] == 3)

    await eventually(observed, "the last change")
    assert await scene.event("TemplateChanged") == text
