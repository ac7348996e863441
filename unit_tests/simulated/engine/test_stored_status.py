"""How the status gets to the API server: once, on condition, and also where its CRD does not know all of it."""

from __future__ import annotations

import asyncio

import pytest
from e2e.support.simulation.cluster import Cluster, cluster, cluster_with_operator, run_pods, started
from e2e.support.simulation.faults import rejecting, status
from e2e.support.simulation.jobs import conditions, counters, jax, pytorch
from structlog.testing import capture_logs

from training_controllers.decide.new_job import MAX_PODS_BEFORE_STATUS

pytestmark = pytest.mark.virtual_time


def status_writes(world: Cluster, process: int = 0) -> int:
    """How many statuses a process has sent so far."""
    return sum(r.path.endswith("/status") for r in world.processes[process].transport.sent)


async def test_under_the_crds_of_v1_restarts_are_counted_all_the_same() -> None:
    async with cluster(prunes=True) as world:
        world.operator()
        await started(world, pytorch(policy="ExitCode", backoffLimit=3), 3)
        for restart in range(3):
            assert "Failed" not in conditions(await world.job("PyTorchJob", "pt"))
            await world.kubelet.ended("pt-worker-0", 137)
            await asyncio.sleep(60)
            if restart < 2:
                await world.kubelet.running("pt-worker-0")
                await asyncio.sleep(3)
        job = await world.job("PyTorchJob", "pt")
        assert list(conditions(job))[-1] == "Failed"
        assert "restarts" not in counters(job)
        assert "observedGeneration" not in job["status"]


async def test_under_the_crds_of_v1_nothing_is_written_again_and_again() -> None:
    async with cluster(prunes=True) as world:
        with capture_logs() as logs:
            world.operator()
            for number in range(3):
                await world.api.create(jax(f"jx{number}"))
            await run_pods(world)
        resources = [line["resource"] for line in logs if line["event"].startswith("the CRD of this kind is older")]
        assert resources == ["jaxjobs.kubeflow.org"]
        writes = status_writes(world)
        for number in range(3):
            # Extensions change (ready, restarts), nothing else does.
            for restarts in (1, 2, 3):
                await world.kubelet.running(f"jx{number}-worker-0", restarts=restarts)
                await asyncio.sleep(3)
        assert status_writes(world) == writes


async def test_under_the_crds_of_v1_a_new_process_writes_at_most_one_status_in_vain() -> None:
    async with cluster(prunes=True) as world:
        world.operator()
        for number in range(5):
            await world.api.create(jax(f"jx{number}"))
        await run_pods(world)
        await world.processes[0].stop()
        world.operator()
        await asyncio.sleep(60)
        # Until the first answer has shown what the CRD does, all jobs are reconciled.
        assert status_writes(world, 1) <= 5
        before = status_writes(world, 1)
        await world.api.patch("JAXJob", "jx0", {"metadata": {"labels": {"a": "b"}}})
        await asyncio.sleep(10)
        assert status_writes(world, 1) == before


@pytest.mark.parametrize("prunes", [False, True])
async def test_a_status_is_remembered_only_where_the_crd_prunes(prunes: bool) -> None:
    async with cluster(prunes=prunes) as world:
        process = world.operator()
        await started(world, jax(), 3)
        (memory,) = [memory for reconciler in process.reconcilers for memory in reconciler.memory.values()]
        assert (memory.status is not None) is prunes


async def test_counters_that_a_crd_prunes_are_counted_once() -> None:
    async with cluster(prunes=True) as world:
        process = world.operator()
        await started(world, jax(), 3)
        for _ in range(2):
            await world.kubelet.ended("jx-worker-0", 1)
            await asyncio.sleep(60)
            await world.kubelet.running("jx-worker-0")
            await asyncio.sleep(3)
        sample = process.app.metrics.registry.get_sample_value
        labels = {"job_namespace": "default", "framework": "jax"}
        assert sample("training_operator_jobs_restarted_total", labels) == 2


@pytest.mark.shows("E-080")
async def test_after_a_conflict_nothing_else_is_done_and_no_one_is_alarmed() -> None:
    async with cluster_with_operator() as (world, process):
        process.transport.reject = rejecting(status(409, "Conflict", "it has been modified"), "status", times=3)
        await started(world, jax(workers=MAX_PODS_BEFORE_STATUS + 1), 3)
        order = [
            "status" if r.path.endswith("/status") else "pod"
            for r in process.transport.sent
            if r.path.endswith(("/status", "/pods")) and r.method != "GET"
        ]
        assert order[:5] == ["status"] * 4 + ["pod"]
        assert conditions(await world.job("JAXJob", "jx"))["Running"] == "True"
        assert await world.events("JAXJobRestarting") == []


async def test_events_of_a_status_that_cannot_be_stored_are_emitted_only_when_it_is() -> None:
    async with cluster_with_operator() as (world, process):
        await started(world, pytorch(policy="Never"), 3)
        process.transport.reject = rejecting(status(500, "InternalError", "no"), "status")
        await world.kubelet.ended("pt-worker-0", 1)
        await asyncio.sleep(30)
        assert await world.events("PyTorchJobFailed") == []
        process.transport.reject = lambda request: None
        await asyncio.sleep(60)
        assert len(await world.events("PyTorchJobFailed")) == 1


async def test_fields_that_others_put_into_the_status_are_replaced_as_v1_does() -> None:
    async with cluster_with_operator() as (world, _):
        await started(world, jax(), 3)
        entries = {"replicaStatuses": {"Launcher": {"active": 3}, "Worker": {"failed": 7}}}
        await world.api.patch("JAXJob", "jx", {"status": entries}, "status")
        await asyncio.sleep(3)
        job = await world.job("JAXJob", "jx")
        assert list(job["status"]["replicaStatuses"]) == ["Worker"]
        assert "failed" not in counters(job)


async def test_a_status_that_speaks_of_an_older_job_is_not_stored() -> None:
    async with cluster_with_operator(jax()) as (world, process):
        process.transport.frozen = lambda request: request.path.endswith("/jaxjobs")
        await world.api.patch("JAXJob", "jx", {"spec": {"runPolicy": {"suspend": True}}})
        await world.kubelet.running(*await world.pods())
        await asyncio.sleep(10)
        assert conditions(await world.job("JAXJob", "jx")) == {"Created": "True"}
        assert await world.events("JAXJobRunning") == []
        assert process.complaints == []
