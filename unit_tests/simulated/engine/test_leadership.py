"""Of two operators one acts; the other one takes over without doing anything twice (K-21)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from e2e.support.simulation.cluster import Cluster, clock, cluster, started
from e2e.support.simulation.faults import Faults, rejecting, status
from e2e.support.simulation.jobs import counters, jax, paddle
from e2e.support.simulation.process import SETTINGS, Process

from training_operator.app import FLUSH_SECONDS
from training_operator.kube.flow import AdaptiveLimit

pytestmark = pytest.mark.virtual_time

ELECTING = SETTINGS.model_copy(update={"leader_elect": True})


@asynccontextmanager
async def two_operators() -> AsyncIterator[tuple[Cluster, Process, Process]]:
    """A cluster with a leader, which is `a`, and a standby."""
    async with cluster() as world:
        leader = world.operator(identity="a", settings=ELECTING)
        await asyncio.sleep(1)
        yield world, leader, world.operator(identity="b", settings=ELECTING)
        assert world.audit.complaints == []


async def holder(world: Cluster) -> str:
    (lease,) = await world.api.list("Lease")
    return str(lease["spec"]["holderIdentity"])


@pytest.mark.shows("E-139")
async def test_only_the_leader_writes() -> None:
    async with two_operators() as (world, _, standby):
        await started(world, jax(), 3)
        assert await holder(world) == "a"
        assert [r.method for r in standby.transport.sent if r.method != "GET"] == []


async def test_a_leader_that_stops_hands_over_at_once() -> None:
    async with two_operators() as (world, leader, _):
        await started(world, jax(), 3)
        await leader.stop()
        await asyncio.sleep(4)
        assert await holder(world) == "b"


async def test_a_leader_that_stops_waits_for_what_it_has_sent_and_sends_nothing_more() -> None:
    """A job is begun, and every answer takes a second: the rest is the next leader's."""
    async with two_operators() as (world, leader, standby):
        leader.transport.delay = lambda request: 0.0 if "/leases" in request.path else 1.0
        await world.api.create(jax(workers=60))
        await asyncio.sleep(8.5)
        sent = len(leader.transport.sent)
        assert leader.transport.in_flight > 1
        begun = clock()
        await leader.stop()
        assert 2 * FLUSH_SECONDS < clock() - begun < 1 + 2 * FLUSH_SECONDS
        after = [request.path for request in leader.transport.sent[sent:]]
        assert [path for path in after if "/leases" not in path and not path.endswith("/events")] == []
        assert await holder(world) == ""
        await asyncio.sleep(20)
        assert await holder(world) == "b"
        assert standby.alive
        assert len(await world.pods()) == 60


async def test_a_renewal_does_not_wait_for_writes_that_hang() -> None:
    async with cluster(checks=False) as world:
        many = ELECTING.model_copy(update={"controller_threads": AdaptiveLimit().now})
        leader = world.operator(identity="a", settings=many)
        await asyncio.sleep(1)
        leader.transport.delay = lambda request: 0.0 if "/leases" in request.path else 25.0
        for number in range(40):
            await world.api.create(jax(f"jx{number}", workers=1))
            await world.api.create(paddle(f"pd{number}", workers=1))
        await asyncio.sleep(20)
        assert leader.transport.in_flight >= AdaptiveLimit().now
        assert leader.alive
        assert await holder(world) == "a"


@pytest.mark.shows("K-21")
async def test_a_leader_that_is_cut_off_ends_before_the_other_one_begins() -> None:
    async with two_operators() as (world, leader, _):
        await started(world, jax(), 3)
        leader.transport.faults = Faults(lost_request=1.0)
        await asyncio.sleep(12)
        assert not leader.alive
        leader.transport.faults = Faults()
        await asyncio.sleep(10)
        assert await holder(world) == "b"
        await world.kubelet.ended("jx-worker-0", 1)
        await asyncio.sleep(3)
        assert counters(await world.job("JAXJob", "jx"))["restarts"] == 1


async def test_a_new_leader_does_not_decide_on_what_it_saw_before() -> None:
    """Its cache of pods lags: it still shows a failed pod that the last leader has counted and replaced."""
    async with two_operators() as (world, leader, standby):
        await started(world, jax(), 3)
        leader.transport.reject = rejecting(status(500, "InternalError", "not yet"), method="DELETE")
        await world.kubelet.ended("jx-worker-0", 1)
        await asyncio.sleep(0.5)
        frozen_until = clock() + 15
        standby.transport.frozen = lambda request: request.path == "/api/v1/pods" and clock() < frozen_until
        leader.transport.reject = lambda request: None
        await asyncio.sleep(3)
        await leader.kill()
        await asyncio.sleep(40)
        assert await holder(world) == "b"
        assert counters(await world.job("JAXJob", "jx"))["restarts"] == 1
