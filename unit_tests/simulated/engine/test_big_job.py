"""One job of hundreds of replicas, weekly a thousand: batches, never more in flight than the gate admits (K-01)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TypeVar

import pytest
from e2e.support.profiles import WEEKLY
from e2e.support.simulation.cluster import cluster, cluster_with_operator, until
from e2e.support.simulation.faults import Faults, rejecting, status
from e2e.support.simulation.jobs import jax, pytorch
from e2e.support.simulation.process import SETTINGS

from training_controllers.decide.replicas import FIRST_AT_ONCE
from training_operator.kube.flow import IN_FLIGHT, RESERVED
from training_operator.kube.transport import Request

T = TypeVar("T")

pytestmark = pytest.mark.virtual_time

REPLICAS = 1000 if WEEKLY else 400


@pytest.mark.shows("K-01")
async def test_hundreds_of_replicas_in_a_few_seconds() -> None:
    async with cluster() as world:
        process = world.operator(Faults(latency=0.05))
        await world.api.create(pytorch(workers=REPLICAS - 1))
        await asyncio.sleep(REPLICAS / 100)
        assert len(await world.pods()) == len(await world.services()) == REPLICAS
        posts = [r for r in process.transport.sent if r.method == "POST" and r.path.endswith(("/pods", "/services"))]
        assert len(posts) == 2 * REPLICAS
        assert IN_FLIGHT <= process.transport.most_in_flight <= IN_FLIGHT + RESERVED


async def test_one_plan_follows_the_other_until_all_replicas_are_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("training_controllers.decide.replicas.FIRST_AT_ONCE", 10)
    monkeypatch.setattr("training_controllers.decide.replicas.MOST_AT_ONCE", 20)
    async with cluster_with_operator(pytorch(workers=70), 5) as (world, _):
        assert len(await world.pods()) == len(await world.services()) == 71


async def test_a_job_whose_first_pods_are_accepted_has_no_second_slow_start() -> None:
    async with cluster() as world:
        process = world.operator(Faults(latency=0.05))
        pods = ("POST", "/api/v1/namespaces/default/pods")
        batches = list[int]()
        """How many pods had been sent when nothing else was on its way any more."""

        def note(request: Request) -> None:
            sent = [each for each in process.transport.sent if (each.method, each.path) == pods]
            if (request.method, request.path) == pods and process.transport.in_flight == 1:
                batches.append(len(sent))

        process.transport.reject = note
        await world.api.create(jax(workers=300))
        await asyncio.sleep(10)
        assert set(batches) <= {1, 3, 7, 15, 31, 63, FIRST_AT_ONCE, 300}
        assert batches[-2:] == [FIRST_AT_ONCE, 300]


async def test_where_pods_are_rejected_few_services_are_made() -> None:
    async with cluster() as world:
        full = status(403, "Forbidden", 'pods "x" is forbidden: exceeded quota: small')
        world.operator().transport.reject = rejecting(full, "pods", method="POST")
        await world.api.create(jax(workers=300))
        await asyncio.sleep(600)
        assert (len(await world.pods()), len(await world.services())) == (0, FIRST_AT_ONCE)


async def test_a_quota_that_is_used_up_later_is_tried_with_few_pods() -> None:
    async with cluster() as world:
        process = world.operator()
        full = rejecting(
            status(403, "Forbidden", 'pods "x" is forbidden: exceeded quota: small'), "pods", method="POST"
        )
        await world.api.create(jax(workers=FIRST_AT_ONCE))
        await asyncio.sleep(60)
        process.transport.reject = full
        for pod in await world.pods():
            await world.api.delete("Pod", pod)
        await asyncio.sleep(60)
        before = len(process.transport.sent)
        await asyncio.sleep(3600)
        tried = [each for each in process.transport.sent[before:] if each.path.endswith("/pods")]
        assert 3 * 12 <= len(tried) <= 3 * 15, "three each time, at least every five minutes"


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


async def test_a_small_job_gets_a_worker_while_more_large_ones_than_workers_are_placed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("training_controllers.decide.replicas.FIRST_AT_ONCE", 80)
    async with cluster() as world:
        world.operator(Faults(latency=0.5), settings=SETTINGS.model_copy(update={"controller_threads": 3}))
        for number in range(5):
            await world.api.create(pytorch(f"big-{number}", workers=80))
        await asyncio.sleep(2)
        await world.api.create(pytorch("small", workers=4))
        await asyncio.sleep(5)
        names = await world.pods()
        assert len([name for name in names if name.startswith("small")]) == 5
        assert len(names) < 5 * 80
        await asyncio.sleep(60)
        assert len(await world.pods()) == len(await world.services()) == 5 * 81 + 5


async def test_many_pods_are_decided_on_beside_the_event_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    """And what happens meanwhile is decided on afterwards."""
    monkeypatch.setattr("training_controllers.reconcile.reconciler.LARGE", 3)
    seen = list[float]()

    async def compute(work: Callable[[], T]) -> T:
        computed = work()
        seen.append(asyncio.get_running_loop().time())
        await asyncio.sleep(1)
        return computed

    async with cluster() as world:
        world.operator(compute=compute)
        await world.api.create(jax("small", workers=3))
        await asyncio.sleep(10)
        assert seen == []
        await world.api.create(jax("large", workers=4))
        await asyncio.sleep(10)
        assert len(seen) >= 2
        assert len(await world.pods()) == 3 + 4


async def test_each_request_of_a_small_job_gets_one_of_the_next_places() -> None:
    """Whatever the big job has waiting: of every other flow at most one request goes before."""
    async with cluster() as world:
        process = world.operator(Faults(latency=0.5))
        sent, sent_at_answer = process.transport.sent, dict[str, int]()
        services, pods = (f"/api/v1/namespaces/default/{plural}" for plural in ("services", "pods"))

        def creations(requests: Sequence[Request]) -> int:
            return len([each for each in requests if each.path in (services, pods)])

        def note(request: Request) -> bool:
            if b'"small-worker-0"' in (request.body or b""):
                sent_at_answer.setdefault(request.path, len(sent))
            return False

        async def most_wait() -> bool:
            return creations(sent) > 550  # batches double until 511 are sent

        async def answered() -> bool:
            return pods in sent_at_answer

        process.transport.lose_answer = note
        await world.api.create(pytorch("big", workers=999))
        await until(most_wait)
        await world.api.create(jax("small", workers=1))
        await until(answered)
        assert creations(sent) < 950, "the big job still waits"
        small = [n for n, each in enumerate(sent) if each.path == pods and b'"small-worker-0"' in (each.body or b"")]
        between = sent[sent_at_answer[services] : small[0]]
        assert creations(between) <= 2
        assert len([each for each in between if "/events" in each.path]) <= 1
