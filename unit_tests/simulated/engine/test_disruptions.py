"""Evicted pods: replaced, counted or failed, exactly once, wherever the operator ends in between."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from e2e.support.simulation.cluster import Cluster, cluster, restart, run_pods
from e2e.support.simulation.faults import rejecting, status
from e2e.support.simulation.jobs import conditions, counters, jax

pytestmark = pytest.mark.virtual_time

ANNOTATION = "extension.training.kubeflow.org/disruptions"


async def started(world: Cluster, mode: str = "", policy: str = "OnFailure", **run: Any) -> None:
    job = jax(workers=3, policy=policy, **run)
    job["metadata"]["annotations"] = {ANNOTATION: mode} if mode else {}
    world.operator()
    await world.api.create(job)
    await run_pods(world)


async def evict(world: Cluster, name: str) -> None:
    """As `kubectl drain` does."""
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}}
    await world.api.send("POST", world.api.path("Pod", name, "eviction"), body)


async def fail(world: Cluster, name: str) -> None:
    """As a kubelet does whose node is short of memory."""
    patch = {"status": {"phase": "Failed", "reason": "Evicted", "message": "The node was low on resource: memory."}}
    await world.api.patch("Pod", name, patch, "status")


@pytest.mark.parametrize("disrupt", [evict, fail])
@pytest.mark.parametrize(("mode", "counted"), [("", 0), ("restart", 0), ("count", 1)])
async def test_evicted_pods_are_replaced(mode: str, counted: int, disrupt: Any) -> None:
    async with cluster() as world:
        await started(world, mode, backoffLimit=2)
        await disrupt(world, "jx-worker-1")
        await run_pods(world)
        job = await world.job("JAXJob", "jx")
        assert counters(job)["active"] == 3
        assert counters(job).get("restarts", 0) == counted
        assert counters(job).get("failed", 0) == 0
        assert conditions(job)["Running"] == "True"
        assert len(await world.events("PodDisrupted")) == 1
        assert len(await world.events("JAXJobRestarting")) == counted
        # The audit counts failed pods; one that is evicted through the API does not fail before it goes.
        assert world.audit.complaints == [] or (mode == "count" and disrupt is evict)


@pytest.mark.parametrize("disrupt", [evict, fail])
@pytest.mark.parametrize(("mode", "policy"), [("fail", "OnFailure"), ("", "Never")])
async def test_evicted_pods_fail_the_job(mode: str, policy: str, disrupt: Any) -> None:
    async with cluster() as world:
        await started(world, mode, policy)
        await disrupt(world, "jx-worker-1")
        await asyncio.sleep(5)
        job = await world.job("JAXJob", "jx")
        assert conditions(job)["Failed"] == "True"
        assert "Pod jx-worker-1: Evict" in job["status"]["conditions"][-1]["message"]
        assert len(await world.events("PodDisrupted")) == 1


@pytest.mark.parametrize("method", ["DELETE", "POST"])
@pytest.mark.parametrize("disrupt", [evict, fail])
@pytest.mark.parametrize(("mode", "counted"), [("restart", 0), ("count", 1)])
async def test_a_crash_between_counting_and_replacing(method: str, mode: str, counted: int, disrupt: Any) -> None:
    """Before the deletion, or before the creation; another replica fails while no operator runs."""
    async with cluster() as world:
        await started(world, mode)
        world.processes[-1].transport.reject = rejecting(status(500, "InternalError", "no"), "pods", method=method)
        await disrupt(world, "jx-worker-1")
        await asyncio.sleep(3)
        assert counters(await world.job("JAXJob", "jx")).get("restarts", 0) == counted
        await world.processes[-1].kill()
        await world.kubelet.ended("jx-worker-0", 1)
        world.operator()
        await run_pods(world)
        job = await world.job("JAXJob", "jx")
        assert counters(job)["restarts"] == counted + 1
        assert counters(job)["active"] == 3
        assert "restartingIndexes" not in counters(job)


async def change_image(world: Cluster, image: str) -> None:
    job = await world.job("JAXJob", "jx")
    replica = job["spec"]["jaxReplicaSpecs"]["Worker"]
    replica["template"]["spec"]["containers"][0]["image"] = image
    await world.api.patch("JAXJob", "jx", {"spec": {"jaxReplicaSpecs": {"Worker": replica}}})
    await asyncio.sleep(3)


@pytest.mark.shows("K-38")
async def test_a_template_that_changes_while_pods_run_emits_one_event_per_change() -> None:
    async with cluster() as world:
        await started(world)
        await change_image(world, "trainer:2")
        changed = "The pod template of Worker has changed; pods that run keep the old one"
        assert await world.events("TemplateChanged") == [changed]
        await world.api.patch("JAXJob", "jx", {"spec": {"runPolicy": {"backoffLimit": 7}}})
        await run_pods(world)
        await restart(world)
        await asyncio.sleep(5)
        assert await world.events("TemplateChanged") == [changed]
        await change_image(world, "trainer:3")
        assert await world.events("TemplateChanged") == [changed, changed]


@pytest.mark.shows("K-38")
@pytest.mark.parametrize("prunes", [False, True])
async def test_a_change_while_no_operator_runs(prunes: bool) -> None:
    """Under v1's CRDs there is no generation to tell."""
    async with cluster(prunes=prunes) as world:
        await started(world)
        await world.processes[-1].kill()
        await change_image(world, "trainer:2")
        world.operator()
        await asyncio.sleep(5)
        await restart(world)
        await asyncio.sleep(5)
        unseen = "The spec has changed while no operator ran; pods that run keep the template they were created from"
        assert await world.events("TemplateChanged") == ([] if prunes else [unseen])
