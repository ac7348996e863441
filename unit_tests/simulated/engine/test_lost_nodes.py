"""Pods on nodes that are gone or not ready, with and without `--replace-pods-on-lost-nodes-after`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest
from e2e.support.simulation.cluster import Cluster, clock, cluster, cluster_with_operator, now, restart, started, until
from e2e.support.simulation.faults import Faults, rejecting, status
from e2e.support.simulation.jobs import conditions, counters, jax
from e2e.support.simulation.kubelet import NODE
from e2e.support.simulation.nodes import Nodes
from e2e.support.simulation.process import SETTINGS

pytestmark = pytest.mark.virtual_time

PATIENCE = 60.0
WATCHFUL = SETTINGS.model_copy(update={"replace_pods_on_lost_nodes_after": timedelta(seconds=PATIENCE)})
LATE = 1.5
"""Times are stored in whole seconds, and a request takes a moment."""


@asynccontextmanager
async def stage(policy: str = "OnFailure", *, watchful: bool = True) -> AsyncIterator[tuple[Cluster, Nodes]]:
    """A job with two workers on one node, which is lost then as far as its kubelet goes; another one is free."""
    async with cluster() as world:
        nodes = Nodes(world.api, now)
        await nodes.join(NODE, "node-1")
        world.operator(settings=WATCHFUL if watchful else SETTINGS)
        await started(world, jax(policy=policy), 3)
        world.kubelet.dead.add(NODE)
        world.kubelet.node = "node-1"
        yield world, nodes
        assert world.audit.complaints == []
        assert [text for process in world.processes for text in process.complaints] == []


async def places(world: Cluster) -> dict[str, str]:
    return {pod["metadata"]["name"]: pod["spec"].get("nodeName", "") for pod in await world.api.list("Pod")}


async def have_moved(world: Cluster) -> bool:
    return await places(world) == {"jx-worker-0": "node-1", "jx-worker-1": "node-1"}


@pytest.mark.shows("K-02")
@pytest.mark.parametrize("restarted", [False, True])
@pytest.mark.parametrize("ready", ["False", "Unknown"])
async def test_they_are_replaced_on_time_also_after_a_restart(ready: str, restarted: bool) -> None:
    async with stage() as (world, nodes):
        lost = clock()
        await nodes.ready(status=ready)
        await asyncio.sleep(20)
        if restarted:
            await restart(world, WATCHFUL)
        assert PATIENCE - LATE < await until(lambda: have_moved(world), within=200) - lost < PATIENCE + LATE
        assert counters(await world.job("JAXJob", "jx")).get("restarts", 0) == 0
        messages = await world.events("PodDisrupted")
        assert sorted(text.split()[1] for text in messages) == ["jx-worker-0", "jx-worker-1"]
        assert len(await world.events("LostNode")) == 2


async def test_they_are_replaced_when_their_node_is_deleted() -> None:
    async with stage() as (world, nodes):
        lost = clock()
        await nodes.leave()
        assert PATIENCE - LATE < await until(lambda: have_moved(world), within=200) - lost < PATIENCE + LATE


async def test_a_node_that_was_not_ready_before_it_was_deleted_is_lost_since_then() -> None:
    async with stage() as (world, nodes):
        lost = clock()
        await nodes.ready(status="Unknown")
        await asyncio.sleep(40)
        await nodes.leave()
        assert PATIENCE - LATE < await until(lambda: have_moved(world), within=200) - lost < PATIENCE + LATE


async def test_a_node_that_comes_back_in_time_keeps_its_pods() -> None:
    async with stage() as (world, nodes):
        for _ in range(4):
            await nodes.ready(status="Unknown")
            await asyncio.sleep(PATIENCE - 10)
            await nodes.ready()
            await asyncio.sleep(20)
        assert set((await places(world)).values()) == {NODE}
        assert await world.events("PodDisrupted") == []


async def test_a_pod_that_hangs_in_its_deletion_is_replaced() -> None:
    """Deleted by a user, with half a minute of grace; only the kubelet could end it, and that does not report."""
    async with stage() as (world, nodes):
        lost = clock()
        await nodes.ready(status="Unknown")
        await asyncio.sleep(PATIENCE - 10)
        await world.api.delete("Pod", "jx-worker-0", gracePeriodSeconds=40)
        uid = (await world.get("Pod", "jx-worker-0"))["metadata"]["uid"]

        async def is_replaced() -> bool:
            pod = await world.api.get("Pod", "jx-worker-0")
            return pod is not None and pod["metadata"]["uid"] != uid

        ended = await until(is_replaced, within=300)
        assert PATIENCE + 30 - LATE < ended - lost < PATIENCE + 30 + LATE
        assert len(await world.events("PodDisrupted")) == 1


@pytest.mark.shows("K-13")
async def test_what_has_succeeded_is_not_run_again() -> None:
    async with stage() as (world, nodes):
        await world.kubelet.ended("jx-worker-0")
        await asyncio.sleep(3)
        await nodes.leave()
        # What Kubernetes itself does with pods of nodes that are gone.
        await world.api.delete("Pod", "jx-worker-0", gracePeriodSeconds=0)
        await asyncio.sleep(2 * PATIENCE)
        assert await places(world) == {"jx-worker-1": "node-1"}
        await world.kubelet.ended("jx-worker-1")
        await asyncio.sleep(3)
        assert conditions(await world.job("JAXJob", "jx"))["Succeeded"] == "True"


async def test_a_job_that_must_not_restart_fails() -> None:
    async with stage("Never") as (world, nodes):
        await nodes.leave()
        await asyncio.sleep(PATIENCE + 5)
        job = await world.job("JAXJob", "jx")
        assert conditions(job)["Failed"] == "True"
        assert "NodeLost" in job["status"]["conditions"][-1]["message"]


async def test_without_the_flag_nobody_asks_for_nodes_and_nothing_is_forced() -> None:
    async with stage(watchful=False) as (world, nodes):
        await nodes.leave()
        await asyncio.sleep(3600)
        assert set((await places(world)).values()) == {NODE}
        assert [each.path for each in world.processes[0].transport.sent if "/nodes" in each.path] == []


async def test_without_permission_to_list_nodes_jobs_run_and_no_node_is_lost() -> None:
    async with cluster_with_operator(settings=WATCHFUL) as (world, process):
        process.transport.reject = rejecting(status(403, "Forbidden", "nodes is forbidden"), "nodes")
        await world.api.create(jax(workers=2))
        await asyncio.sleep(10)
        await world.kubelet.running(*await world.pods())
        await asyncio.sleep(3600)
        assert counters(await world.job("JAXJob", "jx"))["active"] == 2
        assert await world.events("LostNode") == []
        await process.app.wait_synced()


async def test_what_the_server_said_some_time_ago_gives_no_pod_up() -> None:
    """The watch of nodes breaks; meanwhile the node comes back, which the operator cannot know."""
    async with stage() as (world, nodes):
        await nodes.ready(status="Unknown")
        await asyncio.sleep(20)
        transport = world.processes[0].transport
        transport.reject = rejecting(status(500, "InternalError", "no"), "nodes")
        transport.faults = Faults(dropped_watch=1.0)
        await nodes.ready()
        await asyncio.sleep(1)
        transport.faults = Faults()
        await asyncio.sleep(10 * PATIENCE)
        transport.reject = lambda request: None
        await asyncio.sleep(10 * PATIENCE)
        assert set((await places(world)).values()) == {NODE}
