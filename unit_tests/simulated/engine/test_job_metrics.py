"""What the whole operator measures of jobs: every transition once, also across crashes and leaders."""

from __future__ import annotations

import asyncio

import pytest
from e2e.support.simulation.cluster import Cluster, cluster, cluster_with_operator, run_pods, started
from e2e.support.simulation.faults import rejecting, status
from e2e.support.simulation.jobs import conditions, extended, jax, pytorch
from e2e.support.simulation.process import SETTINGS

pytestmark = pytest.mark.virtual_time

JAX = {"job_namespace": "default", "framework": "jax"}


def value(world: Cluster, series: str, process: int = 0, /, **labels: str) -> float:
    """A sample of one process; a series that is not there counts as 0."""
    return world.processes[process].app.metrics.registry.get_sample_value(series, labels) or 0


def total(world: Cluster, series: str, **labels: str) -> float:
    """The sum over all processes, as Prometheus would add them."""
    return sum(value(world, series, number, **labels) for number in range(len(world.processes)))


async def end_pods(world: Cluster, code: int = 0) -> None:
    for name in await world.pods():
        await world.kubelet.ended(name, code)
    await asyncio.sleep(10)


@pytest.mark.shows("INT-106")
async def test_the_life_of_a_job_is_measured() -> None:
    async with cluster_with_operator() as (world, _):
        await started(world, jax())
        assert value(world, "training_operator_jobs", state="running", **JAX) == 1
        assert value(world, "training_operator_job_start_seconds_count", framework="jax") == 1
        assert 5 <= value(world, "training_operator_job_start_seconds_sum", framework="jax") < 7
        await asyncio.sleep(90)
        await end_pods(world)
        labels = {"framework": "jax", "result": "succeeded"}
        assert value(world, "training_operator_job_duration_seconds_count", **labels) == 1
        assert 95 <= value(world, "training_operator_job_duration_seconds_sum", **labels) < 105
        assert value(world, "training_operator_jobs", state="succeeded", **JAX) == 1
        assert value(world, "training_operator_jobs", state="running", **JAX) == 0
        await world.api.delete("JAXJob", "jx")
        await asyncio.sleep(5)
        assert value(world, "training_operator_jobs", state="succeeded", **JAX) == 0


async def test_a_job_that_waits_is_counted_under_its_reason() -> None:
    async with cluster_with_operator() as (world, _):
        await started(world, extended(pytorch(), "restart-scope", "job"))
        world.kubelet._grace = 30
        await world.kubelet.ended("pt-worker-0", 1)
        await asyncio.sleep(5)
        labels = {"job_namespace": "default", "framework": "pytorch"}
        assert value(world, "training_operator_jobs_waiting", reason="Terminating", **labels) == 1
        await asyncio.sleep(60)
        assert value(world, "training_operator_jobs_waiting", reason="Terminating", **labels) == 0
        assert value(world, "training_operator_restarts_total", cause="scope", **labels) == 1


@pytest.mark.shows("K-27", "INT-107")
@pytest.mark.parametrize("writes", range(1, 9))
async def test_whenever_a_process_is_killed_nothing_is_measured_twice(writes: int) -> None:
    async with cluster() as world:
        world.operator(die_after=20 + writes)
        await started(world, jax())
        for _ in range(3):
            await world.kubelet.ended("jx-worker-0", 1)
            await asyncio.sleep(60)
            if not world.processes[-1].alive:
                world.operator()
                await asyncio.sleep(60)
            await run_pods(world, 5)
        await end_pods(world)
        if not world.processes[-1].alive:
            world.operator()
            await asyncio.sleep(60)
        assert list(conditions(await world.job("JAXJob", "jx")))[-1] == "Succeeded"
        assert total(world, "training_operator_jobs_created_total", **JAX) <= 1
        assert total(world, "training_operator_jobs_successful_total", **JAX) <= 1
        assert total(world, "training_operator_job_start_seconds_count", framework="jax") <= 1
        assert total(world, "training_operator_job_duration_seconds_count", framework="jax", result="succeeded") <= 1
        # A write that is stored and whose answer is lost with the process is not measured.
        assert 2 <= total(world, "training_operator_restarts_total", cause="failure", **JAX) <= 3
        assert value(world, "training_operator_jobs", len(world.processes) - 1, state="succeeded", **JAX) == 1


async def test_a_status_that_conflicts_is_measured_when_it_is_stored() -> None:
    async with cluster_with_operator() as (world, process):
        await started(world, jax())
        process.transport.reject = rejecting(status(409, "Conflict", "it has been modified"), "status", times=3)
        await world.kubelet.ended("jx-worker-0", 1)
        await asyncio.sleep(60)
        assert value(world, "training_operator_restarts_total", cause="failure", **JAX) == 1
        assert value(world, "training_operator_jobs_restarted_total", **JAX) == 1


async def test_a_pod_that_the_cluster_ends_is_counted() -> None:
    async with cluster_with_operator() as (world, _):
        await started(world, jax())
        target = {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}
        status = {"status": {"conditions": [target]}}
        await world.api.patch("Pod", "jx-worker-0", status, subresource="status")
        await asyncio.sleep(1)
        # So far it is only planned.
        assert value(world, "training_operator_pods_disrupted_total", **JAX) == 0
        await world.api.delete("Pod", "jx-worker-0")
        await asyncio.sleep(10)
        assert value(world, "training_operator_pods_disrupted_total", **JAX) == 1


async def test_only_the_leader_measures_and_the_next_one_goes_on() -> None:
    async with cluster() as world:
        settings = SETTINGS.model_copy(update={"leader_elect": True})
        first = world.operator(identity="a", settings=settings)
        await asyncio.sleep(5)
        world.operator(identity="b", settings=settings)
        await started(world, jax())
        assert value(world, "training_operator_jobs", 0, state="running", **JAX) == 1
        assert value(world, "training_operator_jobs", 1, state="running", **JAX) == 0
        await first.stop()
        await asyncio.sleep(60)
        assert value(world, "training_operator_jobs", 1, state="running", **JAX) == 1
        await end_pods(world)
        assert total(world, "training_operator_jobs_created_total", **JAX) == 1
        assert total(world, "training_operator_job_start_seconds_count", framework="jax") == 1
        assert value(world, "training_operator_jobs_successful_total", 1, **JAX) == 1


@pytest.mark.shows("K-25")
async def test_deleted_pods_and_rejected_services_are_counted() -> None:
    async with cluster() as world:
        rejection = rejecting(status(500, "InternalError", "not today"), "services", method="POST", times=2)
        world.operator().transport.reject = rejection
        await started(world, jax(workers=3))
        await world.api.patch("JAXJob", "jx", {"spec": {"jaxReplicaSpecs": {"Worker": {"replicas": 1}}}})
        await asyncio.sleep(5)
        assert value(world, "failed_service_creation_total") == 2
        assert value(world, "deleted_pods_total") == 2


@pytest.mark.shows("E-145")
async def test_a_job_that_its_user_deletes_is_not_counted_as_deleted() -> None:
    async with cluster_with_operator() as (world, process):
        await started(world, jax(workers=1))
        await world.api.delete("JAXJob", "jx")
        await asyncio.sleep(3)
        lines = process.app.metrics.exposition().decode().splitlines()
        assert [line for line in lines if line.startswith("training_operator_jobs_created_total{")]
        assert [line for line in lines if line.startswith("training_operator_jobs_deleted_total{")] == []
