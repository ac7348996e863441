"""Each failed pod that is replaced counts once, wherever the process ends in between (K-03)."""

from __future__ import annotations

import asyncio

import pytest
from e2e.support.simulation.cluster import cluster_with_operator, run_pods, started
from e2e.support.simulation.faults import rejecting, status
from e2e.support.simulation.jobs import counters, jax

pytestmark = pytest.mark.virtual_time


@pytest.mark.parametrize("method", ["DELETE", "POST"])
@pytest.mark.parametrize("also_fails", [False, True])
async def test_a_crash_between_counting_and_replacing(method: str, also_fails: bool) -> None:
    """Before the deletion, or before the creation; another replica may fail while no operator runs."""
    async with cluster_with_operator() as (world, process):
        await started(world, jax(workers=3), 3)
        process.transport.reject = rejecting(status(500, "InternalError", "no"), "pods", method=method)
        await world.kubelet.ended("jx-worker-1", 1)
        await asyncio.sleep(3)
        assert counters(await world.job("JAXJob", "jx"))["restarts"] == 1
        await process.kill()
        if also_fails:
            await world.kubelet.ended("jx-worker-0", 1)
        world.operator()
        await run_pods(world)
        job = await world.job("JAXJob", "jx")
        assert counters(job)["restarts"] == 1 + also_fails
        assert counters(job)["active"] == 3
        assert "restartingIndexes" not in counters(job)
        assert world.audit.complaints == []


async def test_a_replica_that_waits_for_its_replacement_is_named() -> None:
    async with cluster_with_operator() as (world, _):
        await started(world, jax(workers=3), 3)
        for attempt in range(2):
            await world.kubelet.ended("jx-worker-1", 1)
            await asyncio.sleep(3)
            if "jx-worker-1" in await world.pods() and attempt == 0:
                await world.kubelet.running("jx-worker-1")
        job = await world.job("JAXJob", "jx")
        assert counters(job)["restarts"] == 2
        assert counters(job)["restartingIndexes"] == "1"
        await world.kubelet.ended("jx-worker-2", 1)
        await asyncio.sleep(3)
        job = await world.job("JAXJob", "jx")
        assert counters(job)["restarts"] == 3
        assert len(await world.events("JAXJobRestarting")) == 3
