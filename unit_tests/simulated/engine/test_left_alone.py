"""What the operator leaves alone: others' pods and namespaces, pods that run, changed services, terminal conditions."""

from __future__ import annotations

import asyncio

import pytest
from e2e.support.objects import pod
from e2e.support.simulation.api import Json
from e2e.support.simulation.cluster import cluster, cluster_with_operator, started
from e2e.support.simulation.jobs import counters, jax, pytorch
from e2e.support.simulation.process import SETTINGS

pytestmark = pytest.mark.virtual_time

SETTLED = 3.0


@pytest.mark.shows("K-37", "E-014", "E-051")
@pytest.mark.parametrize(
    "labels", [{"training.kubeflow.org/replica-type": None}, {"training.kubeflow.org/job-name": "a"}]
)
async def test_what_only_looks_like_a_pod_of_the_job_is_ignored(labels: Json) -> None:
    """Without its labels a pod of the job is no replica; with them a pod of another owner is none: no adoption."""
    async with cluster_with_operator() as (world, _):
        await started(world, jax(workers=1))
        own = (await world.get("Pod", "jx-worker-0"))["metadata"]["labels"]
        kept = {name: value for name, value in own.items() if labels.get(name, value) is not None}
        meta: Json = {"labels": kept | {name: text for name, text in labels.items() if text}}
        before = await world.api.create(pod("stranger", meta=meta, containers=[{"name": "jax", "image": "x"}]))
        await world.kubelet.running("stranger")
        await asyncio.sleep(SETTLED)
        after = await world.get("Pod", "stranger")
        assert after["metadata"]["uid"] == before["metadata"]["uid"]
        assert "ownerReferences" not in after["metadata"]
        assert counters(await world.job("JAXJob", "jx"))["active"] == 1


@pytest.mark.shows("E-021")
async def test_only_the_jobs_of_one_namespace() -> None:
    async with cluster() as world:
        world.operator(settings=SETTINGS.model_copy(update={"namespace": "team"}))
        await world.api.create(jax())
        await asyncio.sleep(SETTLED)
        assert "status" not in await world.job("JAXJob", "jx")
        assert await world.pods() == []


@pytest.mark.shows("K-38", "E-052")
async def test_pods_that_run_keep_their_template() -> None:
    async with cluster_with_operator() as (world, _):
        await started(world, jax(workers=1))
        before = await world.get("Pod", "jx-worker-0")
        job = jax(workers=1)
        job["spec"]["jaxReplicaSpecs"]["Worker"]["template"]["spec"]["containers"][0]["image"] = "trainer:2"
        await world.api.patch("JAXJob", "jx", job)
        await asyncio.sleep(SETTLED)
        after = await world.get("Pod", "jx-worker-0")
        assert (before["metadata"]["uid"], before["spec"]) == (after["metadata"]["uid"], after["spec"])


@pytest.mark.shows("E-063")
async def test_a_service_that_differs_is_left_as_it_is() -> None:
    async with cluster_with_operator() as (world, _):
        await started(world, jax(workers=1))
        change = {"metadata": {"labels": {"mine": "yes"}}, "spec": {"sessionAffinity": "ClientIP"}}
        await world.api.patch("Service", "jx-worker-0", change)
        await asyncio.sleep(SETTLED)
        service = await world.get("Service", "jx-worker-0")
        assert service["spec"]["sessionAffinity"] == "ClientIP"
        assert service["metadata"]["labels"]["mine"] == "yes"


@pytest.mark.shows("E-078", "E-113")
async def test_a_terminal_condition_is_never_revoked() -> None:
    """Whatever happens to the pods afterwards, and whoever looks at them (the chaos test does that to every kind)."""
    async with cluster_with_operator() as (world, _):
        names = await started(world, pytorch(policy="Never"))
        await world.kubelet.ended("pt-master-0")
        await asyncio.sleep(SETTLED)
        before = (await world.job("PyTorchJob", "pt"))["status"]["conditions"]
        for name in names[1:]:
            await world.kubelet.ended(name, 1)
        await world.api.patch("PyTorchJob", "pt", {"spec": {"runPolicy": {"suspend": True}}})
        await world.processes[-1].kill()
        world.operator()
        await asyncio.sleep(SETTLED)
        assert (await world.job("PyTorchJob", "pt"))["status"]["conditions"] == before
        assert world.audit.complaints == []
