"""One job of a thousand replicas: batches, and never more in flight than the gate lets through (K-01)."""

from __future__ import annotations

import asyncio

import pytest
from unit_tests.simulation.cluster import cluster
from unit_tests.simulation.faults import Faults
from unit_tests.simulation.jobs import jax, pytorch

from training_operator.kube.flow import RESERVED

pytestmark = pytest.mark.virtual_time


async def test_a_thousand_replicas_in_a_few_seconds() -> None:
    async with cluster() as world:
        process = world.operator(Faults(latency=0.05))
        await world.api.create(pytorch(workers=999))
        await asyncio.sleep(10)
        assert len(await world.pods()) == len(await world.services()) == 1000
        posts = [r for r in process.transport.sent if r.method == "POST" and r.path.endswith(("/pods", "/services"))]
        assert len(posts) == 2000
        assert 32 <= process.transport.most_in_flight <= 64 + RESERVED


async def test_a_small_job_does_not_wait_for_a_big_one() -> None:
    async with cluster() as world:
        world.operator(Faults(latency=0.5))
        await world.api.create(pytorch("big", workers=999))
        await asyncio.sleep(2)
        await world.api.create(jax("small", workers=4))
        await asyncio.sleep(6)
        names = await world.pods()
        assert len([name for name in names if name.startswith("small")]) == 4
        assert len(names) < 1000
