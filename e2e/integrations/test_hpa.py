"""Autoscalers of elastic jobs: Kubernetes' own controller, and the real metrics API in front of a test's figures."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from e2e.harness.bare import bare
from e2e.harness.client import Api, Object, eventually
from e2e.harness.cluster import Cluster
from e2e.harness.jobs import METRIC, Namespace, elastic, job
from e2e.harness.metrics_server import API, MetricsServer
from e2e.harness.operator import running_operator
from e2e.support import marks
from e2e.support.profiles import often

pytestmark = marks.bare  # an autoscaler is needed

LIMIT = 60.0
"""Seconds for a round of the autoscaler; it looks every second."""
LONG_AGO = "2026-01-01T00:00:00Z"
"""A pod that started just now would not count for minutes."""
READY = {
    "phase": "Running",
    "startTime": LONG_AGO,
    "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": LONG_AGO}],
}


@pytest.fixture(scope="module")
def metrics() -> Iterator[MetricsServer]:
    server = MetricsServer()
    with server.serving():
        yield server


@pytest.fixture(scope="module")
def cluster(metrics: MetricsServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A control plane with an eager autoscaler, and the operator."""
    eager = ("--horizontal-pod-autoscaler-sync-period=1s", "--horizontal-pod-autoscaler-downscale-stabilization=0s")
    log = tmp_path_factory.mktemp("hpa") / "operator.log"
    with bare(*eager) as cluster, running_operator(cluster.kubeconfig, log):
        cluster.send("create", *metrics.registration())
        cluster.run_kubectl("wait", "--for=condition=Available", "apiservice/v1beta1.metrics.k8s.io", "--timeout=30s")
        assert "PodMetricsList" in cluster.run_kubectl("get", "--raw", f"{API}/namespaces/default/pods")
        yield cluster


@pytest.fixture
def jobs(api: Api) -> Namespace:
    return Namespace(api, "default")


async def ready(jobs: Namespace, name: str, count: int) -> None:
    """Let all pods of a job run as a node would."""
    await jobs.pods_reach(name, count, LIMIT)
    await jobs.set_status(name, READY)


async def autoscaler(api: Api, name: str) -> Object:
    """The autoscaler of that name, once it is there."""
    path = f"/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers/{name}"
    return await eventually(lambda: api.get(path), "an autoscaler")


async def condition(api: Api, name: str, type_: str, reason: str) -> Object:
    """Wait until the autoscaler has this condition for this reason."""

    async def found() -> Object | None:
        status = (await autoscaler(api, name)).get("status", {})
        return next((c for c in status.get("conditions") or () if (c["type"], c["reason"]) == (type_, reason)), None)

    return await eventually(found, f"{type_} {reason} of the autoscaler {name}", LIMIT)


async def workers(jobs: Namespace, kind: str, name: str) -> int:
    """How many workers the job asks for."""
    found = await jobs.api.call("GET", f"{jobs.jobs(kind)}/{name}/scale")
    return int(found["spec"]["replicas"])


@pytest.mark.shows("SDK-8.11")
async def test_an_elastic_pytorchjob_follows_its_load(jobs: Namespace, metrics: MetricsServer) -> None:
    """The autoscaler is v1's, it finds its target, and workers follow it within its limits."""
    body = elastic("elastic", workers=1)
    main = body["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]["spec"]["containers"][0]
    main["resources"] = {"requests": {"cpu": "100m"}}
    metrics.usage = {f"elastic-worker-{index}": "80m" for index in range(3)}
    await jobs.create(body)
    made = await autoscaler(jobs.api, "elastic")
    assert made["metadata"]["ownerReferences"][0]["kind"] == "PyTorchJob"
    assert made["spec"] == {
        "scaleTargetRef": {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "name": "elastic"},
        "minReplicas": 1,
        "maxReplicas": 3,
        "metrics": [METRIC],
    }
    await ready(jobs, "elastic", 1)
    assert (await condition(jobs.api, "elastic", "AbleToScale", "ReadyForNewScale"))["status"] == "True"
    assert (await condition(jobs.api, "elastic", "ScalingActive", "ValidMetricFound"))["status"] == "True"
    assert await workers(jobs, "PyTorchJob", "elastic") == 1

    metrics.usage = dict.fromkeys(metrics.usage, "1000m")
    await ready(jobs, "elastic", 3)
    assert (await condition(jobs.api, "elastic", "ScalingLimited", "TooManyReplicas"))["status"] == "True"
    assert await workers(jobs, "PyTorchJob", "elastic") == 3
    assert sorted(pod["metadata"]["name"] for pod in await jobs.pods("elastic")) == sorted(metrics.usage)

    metrics.usage = dict.fromkeys(metrics.usage, "1m")
    await jobs.pods_reach("elastic", 1, LIMIT)
    await jobs.api.delete(f"{jobs.jobs('PyTorchJob')}/elastic")


@pytest.mark.shows("SDK-8.11", "SDK-8.18")
@pytest.mark.parametrize("kind", often(["PyTorchJob", "PaddleJob", "JAXJob"], "JAXJob"))
async def test_kubectl_autoscale(cluster: Cluster, jobs: Namespace, kind: str) -> None:
    """An autoscaler of the user's own raises a job to its minimum, for all kinds that scale."""
    name = f"asked-{kind.lower()}"
    await jobs.create(job(name, kind, Worker=1))
    await jobs.pods_reach(name, 1)
    cluster.run_kubectl("autoscale", f"{kind.lower()}/{name}", "--min=2", "--max=3", "--cpu=80%")
    await jobs.pods_reach(name, 2, LIMIT)
    assert (await condition(jobs.api, name, "AbleToScale", "SucceededGetScale"))["status"] == "True"
    assert await workers(jobs, kind, name) == 2
