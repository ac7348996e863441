"""What has to happen at a certain time happens then, also if nothing else does, also after a restart (K-02)."""

from __future__ import annotations

import asyncio

import pytest
from e2e.support import objects
from e2e.support.simulation.cluster import Cluster, clock, cluster, cluster_with_operator, now, restart, started, until
from e2e.support.simulation.faults import status
from e2e.support.simulation.jobs import conditions, counters, jax, pytorch

from training_operator.kube.transport import Request, Response

pytestmark = pytest.mark.virtual_time

LATE = 1.5
"""Times are stored in whole seconds, and a request takes a moment."""


async def has_failed(world: Cluster) -> bool:
    return "Failed" in conditions(await world.job("PyTorchJob", "pt"))


@pytest.mark.parametrize("restarted", [False, True])
async def test_an_expired_job_is_deleted_in_time(restarted: bool) -> None:
    async with cluster_with_operator() as (world, _):
        await started(world, jax(workers=1, ttlSecondsAfterFinished=100), 3)
        ended = clock()
        await world.kubelet.ended("jx-worker-0")
        await asyncio.sleep(20)
        if restarted:
            await restart(world)

        async def gone() -> bool:
            return await world.api.get("JAXJob", "jx") is None

        assert 100 - LATE < await until(gone, within=200) - ended < 100 + LATE
        assert await world.events("SuccessfulDeletePod") == ["Deleted job: jx"]
        await asyncio.sleep(5)
        assert await world.pods() == await world.services() == []


async def test_a_slow_request_does_not_put_off_a_deadline() -> None:
    async with cluster_with_operator() as (world, process):
        await world.api.create(jax(workers=2, activeDeadlineSeconds=60))
        begun = clock()
        await asyncio.sleep(3)
        await world.kubelet.running("jx-worker-0")
        await asyncio.sleep(27)
        process.transport.delay = lambda request: 20.0 if request.path.endswith("/status") else 0.0
        # Else the watch shows the new status, which leads to another reconcile.
        process.transport.frozen = lambda request: "jaxjobs" in request.path
        await world.kubelet.running("jx-worker-1")
        await asyncio.sleep(10)
        process.transport.delay = lambda request: 0.0

        async def failed() -> bool:
            return list(conditions(await world.job("JAXJob", "jx")))[-1] == "Failed"

        assert await until(failed, within=100) - begun < 60 + LATE


async def test_a_job_that_expired_while_no_operator_ran_is_deleted_at_once() -> None:
    async with cluster_with_operator() as (world, process):
        await started(world, jax(workers=1, ttlSecondsAfterFinished=100), 3)
        await world.kubelet.ended("jx-worker-0")
        await asyncio.sleep(20)
        await process.stop()
        await asyncio.sleep(1000)
        world.operator()
        await asyncio.sleep(2)
        assert await world.api.get("JAXJob", "jx") is None


@pytest.mark.parametrize("restarted", [False, True])
async def test_a_job_that_is_active_for_too_long_fails_in_time(restarted: bool) -> None:
    async with cluster_with_operator() as (world, _):
        begun = clock()
        await started(world, pytorch(activeDeadlineSeconds=300), 3)
        if restarted:
            await restart(world)

        assert 300 - LATE < await until(lambda: has_failed(world), within=400) - begun < 300 + LATE
        await asyncio.sleep(5)
        # Without a clean-up policy nothing that still runs is kept (K-18).
        assert await world.pods() == []


@pytest.mark.shows("E-101")
async def test_time_in_suspension_does_not_count() -> None:
    async with cluster_with_operator() as (world, _):
        await started(world, pytorch(activeDeadlineSeconds=100), 3)
        await world.api.patch("PyTorchJob", "pt", {"spec": {"runPolicy": {"suspend": True}}})
        await asyncio.sleep(500)
        assert "Failed" not in conditions(await world.job("PyTorchJob", "pt"))
        resumed = clock()
        await world.api.patch("PyTorchJob", "pt", {"spec": {"runPolicy": {"suspend": False}}})

        assert 100 - LATE < await until(lambda: has_failed(world), within=200) - resumed < 100 + LATE


@pytest.mark.parametrize("restarted", [False, True])
async def test_replicas_that_fail_again_and_again_wait_longer_and_longer(restarted: bool) -> None:
    async with cluster_with_operator() as (world, _):
        await started(world, jax(workers=1), 3)
        delays = []
        for _ in range(5):
            uid = (await world.get("Pod", "jx-worker-0"))["metadata"]["uid"]
            await world.kubelet.ended("jx-worker-0", 1)
            failed = clock()
            if restarted:
                await restart(world)

            async def replaced(uid: str = uid) -> bool:
                pod = await world.api.get("Pod", "jx-worker-0")
                return pod is not None and pod["metadata"]["uid"] != uid

            delays.append(await until(replaced, within=200) - failed)
            await world.kubelet.running("jx-worker-0")
        at_once = 5 if restarted else 0
        for delay, expected in zip(delays, (at_once, 10, 20, 40, 80), strict=True):
            assert expected - LATE < delay < expected + LATE
        assert counters(await world.job("JAXJob", "jx"))["restarts"] == 5


@pytest.mark.parametrize("restarted", [False, True])
async def test_pods_that_only_a_proxy_keeps_running_go_a_minute_after_their_own_containers(restarted: bool) -> None:
    async with cluster_with_operator() as (world, _):
        await started(world, jax(workers=1), 3)
        pod = await world.get("Pod", "jx-worker-0")
        ended = {"terminated": {"exitCode": 0, "reason": "Completed", "finishedAt": f"{now():%Y-%m-%dT%H:%M:%SZ}"}}
        stored = await world.kubelet.set_status(pod, "Running", ended)
        assert stored["status"]["phase"] == "Running"
        begun = clock()
        await asyncio.sleep(5)
        assert conditions(await world.job("JAXJob", "jx"))["Succeeded"] == "True"
        assert await world.pods() == ["jx-worker-0"]
        if restarted:
            await restart(world)

        async def gone() -> bool:
            return await world.pods() == []

        assert 60 - LATE < await until(gone, within=100) - begun < 60 + 2 * LATE  # the pod takes a second to stop


async def test_the_server_says_when_to_try_again() -> None:
    """Whose pod has the name, and whether the job may be deleted, it does not say before."""
    async with cluster() as world:
        await world.api.create(objects.pod("jx-worker-0"))
        process = world.operator()
        methods: list[str] = []

        def reject(request: Request) -> Response | None:
            if (request.method, request.path.rpartition("/")[2]) not in (("GET", "jx-worker-0"), ("DELETE", "jx")):
                return None
            methods.append(request.method)
            return status(429, "TooManyRequests", "later", {"retry-after": "60"})

        process.transport.reject = reject
        await world.api.create(jax(workers=1, activeDeadlineSeconds=30, ttlSecondsAfterFinished=0))
        await asyncio.sleep(80)
        assert methods == ["GET", "DELETE"]
        await asyncio.sleep(20)
        assert methods == ["GET", "DELETE", "DELETE"]
