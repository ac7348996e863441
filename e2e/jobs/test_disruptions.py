"""Evicted pods, lost nodes and changed templates on a real API server; the test is the kubelet and the nodes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest
from e2e.harness.client import Api, eventually
from e2e.harness.cluster import Cluster
from e2e.harness.operator import Operator, running_operator
from e2e.jobs.scene import NAME, NODES, Scene, ready_node, set_ready, training

LOW = "The node was low on resource: memory."
PATIENCE = "2s"


@pytest.fixture(scope="module")
def operator(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Operator]:
    flag = f"--replace-pods-on-lost-nodes-after={PATIENCE}"
    log = tmp_path_factory.mktemp("operator") / "operator.log"
    with running_operator(cluster.kubeconfig, log, flag) as operator:
        yield operator


@pytest.fixture
async def node(api: Api) -> AsyncIterator[str]:
    async with ready_node(api) as name:
        yield name


@pytest.fixture
def scene(operator: Operator, api: Api, namespace: str, node: str) -> Scene:
    return Scene(api, namespace, node)


@pytest.mark.parametrize(
    ("kind", "policy", "mode", "restarts"),
    [("JAXJob", "OnFailure", "", 0), ("XGBoostJob", "ExitCode", "", 0), ("XGBoostJob", "Never", "count", 1)],
)
async def test_an_evicted_pod_is_replaced(scene: Scene, kind: str, policy: str, mode: str, restarts: int) -> None:
    """Through the API, as `kubectl drain` does: the pod goes when its kubelet says so."""
    await scene.start(training(kind, policy, mode))
    before = await scene.uid("train-worker-1")
    await scene.evict("train-worker-1")
    consequence = "this counts as a restart" if restarts else "this does not count as a restart"
    told = await scene.event("PodDisrupted")
    assert told == f"pod train-worker-1 was disrupted (EvictionByEvictionAPI): it is replaced; {consequence}"
    await scene.stopped("train-worker-1")
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
