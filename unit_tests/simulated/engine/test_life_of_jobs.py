"""The whole operator in virtual time, from the job that a user creates to what is left of it."""

from __future__ import annotations

import asyncio

import pytest
from e2e.support.simulation.cluster import cluster, cluster_with_operator, started, until
from e2e.support.simulation.jobs import conditions, counters, jax, pytorch

pytestmark = pytest.mark.virtual_time

SETTLED = 5.0
"""Virtual seconds after which everything that follows from a change has happened."""


@pytest.mark.shows("E-046")
async def test_a_pytorch_job_runs_and_succeeds() -> None:
    async with cluster_with_operator() as (world, _):
        names = await started(world, pytorch(workers=2, cleanPodPolicy="Running"))
        assert names == ["pt-master-0", "pt-worker-0", "pt-worker-1"]
        assert await world.services() == names
        job = await world.job("PyTorchJob", "pt")
        assert conditions(job) == {"Created": "True", "Running": "True"}
        assert counters(job)["active"] == 2

        await world.kubelet.ended("pt-master-0")
        await asyncio.sleep(SETTLED)
        job = await world.job("PyTorchJob", "pt")
        assert conditions(job) == {"Running": "False", "Created": "True", "Succeeded": "True"}
        assert "completionTime" in job["status"]
        assert await world.pods() == ["pt-master-0"]
        assert await world.services() == []
        events = await world.events()
        for name in names:
            assert f"Created pod: {name}" in events
            assert f"Created service: {name}" in events
        assert await world.events("SuccessfulDeletePod") == ["Deleted pod: pt-worker-0", "Deleted pod: pt-worker-1"]
        assert await world.events("ExitedWithCode") == ["Pod: default.pt-master-0 exited with code 0"]


@pytest.mark.shows("K-32")
async def test_services_are_there_before_pods() -> None:
    async with cluster_with_operator() as (world, _):
        await started(world, pytorch(workers=3))
        posts = [
            r.path.rpartition("/")[2]
            for r in world.processes[0].transport.sent
            if r.method == "POST" and r.path.endswith(("/pods", "/services"))
        ]
        assert posts == ["services"] * 4 + ["pods"] * 4


async def test_a_jax_job_succeeds_when_all_replicas_have() -> None:
    async with cluster_with_operator() as (world, _):
        names = await started(world, jax(workers=3))
        for name in names[:2]:
            await world.kubelet.ended(name)
        await asyncio.sleep(SETTLED)
        job = await world.job("JAXJob", "jx")
        assert conditions(job)["Running"] == "True"
        assert counters(job)["completedIndexes"] == "0-1"
        await world.kubelet.ended(names[2])
        await asyncio.sleep(SETTLED)
        assert list(conditions(await world.job("JAXJob", "jx")))[-1] == "Succeeded"


async def test_a_finished_replica_is_not_run_again() -> None:
    async with cluster_with_operator() as (world, _):
        await started(world, jax(workers=2))
        await world.kubelet.ended("jx-worker-0")
        await asyncio.sleep(SETTLED)
        await world.api.delete("Pod", "jx-worker-0")
        await asyncio.sleep(SETTLED)
        assert await world.pods() == ["jx-worker-1"]


async def test_a_job_fails_with_its_replica() -> None:
    async with cluster_with_operator() as (world, _):
        await started(world, pytorch(policy="Never", cleanPodPolicy="All"))
        await world.kubelet.ended("pt-worker-1", 1)
        await asyncio.sleep(SETTLED)
        job = await world.job("PyTorchJob", "pt")
        assert list(conditions(job))[-1] == "Failed"
        assert "PyTorchJob pt is failed because 1 Worker replica(s) failed." in await world.events("PyTorchJobFailed")
        assert await world.pods() == []
        assert await world.services() == []


async def test_the_exit_code_decides_whether_a_replica_may_restart() -> None:
    async with cluster_with_operator() as (world, _):
        await started(world, pytorch(policy="ExitCode"))
        before = await world.get("Pod", "pt-worker-0")
        await world.kubelet.ended("pt-worker-0", 137)
        await asyncio.sleep(SETTLED)
        after = await world.get("Pod", "pt-worker-0")
        assert before["metadata"]["uid"] != after["metadata"]["uid"]
        assert counters(await world.job("PyTorchJob", "pt"))["restarts"] == 1
        message = "PyTorchJob pt is restarting because 1 Worker replica(s) failed."
        assert await world.events("PyTorchJobRestarting") == [message]

        await world.kubelet.running("pt-worker-0")
        await world.kubelet.ended("pt-worker-0", 1)
        await asyncio.sleep(SETTLED)
        assert list(conditions(await world.job("PyTorchJob", "pt")))[-1] == "Failed"


async def test_a_pod_deleted_by_somebody_is_replaced_and_not_counted() -> None:
    async with cluster_with_operator() as (world, _):
        await started(world, pytorch())
        await world.api.delete("Pod", "pt-worker-0")
        await asyncio.sleep(SETTLED)
        assert await world.pods() == ["pt-master-0", "pt-worker-0", "pt-worker-1"]
        await world.kubelet.running("pt-worker-0")
        await asyncio.sleep(SETTLED)
        job = await world.job("PyTorchJob", "pt")
        assert counters(job)["active"] == 2
        assert "restarts" not in counters(job)


async def test_scaling_up_and_down() -> None:
    async with cluster_with_operator() as (world, _):
        await started(world, pytorch(workers=2))
        for workers in (4, 1):
            patch = {"spec": {"pytorchReplicaSpecs": {"Worker": {"replicas": workers}}}}
            await world.api.patch("PyTorchJob", "pt", patch)
            await asyncio.sleep(SETTLED)
            names = ["pt-master-0", *(f"pt-worker-{index}" for index in range(workers))]
            assert await world.pods() == names
            assert await world.services() == names


async def test_many_replicas_go_at_once() -> None:
    async with cluster_with_operator() as (world, _):
        names = await started(world, jax(workers=6))
        await world.api.patch("JAXJob", "jx", {"spec": {"jaxReplicaSpecs": {"Worker": {"replicas": 1}}}})
        await asyncio.sleep(SETTLED)
        gone = ", ".join(names[1:])
        assert await world.events("SuccessfulDeletePod") == [f"Deleted pods: {gone}"]
        assert await world.events("SuccessfulDeleteService") == [f"Deleted services: {gone}"]


async def test_suspend_and_resume() -> None:
    async with cluster_with_operator() as (world, _):
        await started(world, pytorch())
        start_time = (await world.job("PyTorchJob", "pt"))["status"]["startTime"]
        await world.api.patch("PyTorchJob", "pt", {"spec": {"runPolicy": {"suspend": True}}})
        await asyncio.sleep(SETTLED)
        job = await world.job("PyTorchJob", "pt")
        assert conditions(job) == {"Running": "False", "Created": "True", "Suspended": "True"}
        assert await world.pods() == await world.services() == []

        await world.api.patch("PyTorchJob", "pt", {"spec": {"runPolicy": {"suspend": False}}})
        await asyncio.sleep(SETTLED)
        await world.kubelet.running(*await world.pods())
        await asyncio.sleep(SETTLED)
        job = await world.job("PyTorchJob", "pt")
        assert conditions(job) == {"Suspended": "False", "Created": "True", "Running": "True"}
        assert job["status"]["startTime"] > start_time
        assert await world.events("PyTorchJobSuspended") == ["PyTorchJob pt is suspended."]
        assert await world.events("PyTorchJobResumed") == ["PyTorchJob pt is resumed."]


async def test_restarts_survive_suspension() -> None:
    async with cluster_with_operator() as (world, _):
        await started(world, jax(workers=1))
        await world.kubelet.ended("jx-worker-0", 1)
        await asyncio.sleep(SETTLED)
        for suspend in (True, False):
            await world.api.patch("JAXJob", "jx", {"spec": {"runPolicy": {"suspend": suspend}}})
            await asyncio.sleep(SETTLED)
        await world.kubelet.running("jx-worker-0")
        await world.kubelet.ended("jx-worker-0", 1)
        await asyncio.sleep(SETTLED)
        assert counters(await world.job("JAXJob", "jx"))["restarts"] == 2


@pytest.mark.parametrize("propagation", ["Background", "Foreground"])
async def test_nothing_is_left_of_a_deleted_job(propagation: str) -> None:
    async with cluster_with_operator() as (world, process):
        await started(world, pytorch())
        assert process.remembered > 0
        await world.api.delete("PyTorchJob", "pt", propagationPolicy=propagation)
        await asyncio.sleep(SETTLED)
        assert await world.api.get("PyTorchJob", "pt") is None
        assert await world.pods() == await world.services() == []
        assert process.remembered == 0


@pytest.mark.shows("E-016", "K-24")
async def test_a_namesake_of_a_deleted_job_starts_afresh() -> None:
    async with cluster_with_operator() as (world, _):
        await started(world, jax(workers=1))
        await world.kubelet.ended("jx-worker-0", 1)
        await asyncio.sleep(SETTLED)
        await world.api.delete("JAXJob", "jx")
        await world.api.create(jax(workers=1))
        # The old pod has the name until it is gone.
        await until(world.pods)
        await asyncio.sleep(SETTLED)
        job, pod = await world.job("JAXJob", "jx"), await world.get("Pod", "jx-worker-0")
        assert pod["metadata"]["ownerReferences"][0]["uid"] == job["metadata"]["uid"]
        assert "restarts" not in counters(job)
        assert await world.events("NameTaken") == []


async def test_a_job_managed_by_somebody_else_is_ignored() -> None:
    async with cluster_with_operator(pytorch(managedBy="kueue.x-k8s.io/multikueue"), SETTLED) as (world, _):
        assert "status" not in await world.job("PyTorchJob", "pt")
        assert await world.pods() == await world.services() == await world.events() == []


async def test_a_job_without_replicas_is_a_job() -> None:
    async with cluster_with_operator(jax(workers=0), SETTLED) as (world, _):
        assert "Created" in conditions(await world.job("JAXJob", "jx"))


async def test_nothing_is_written_while_nothing_happens() -> None:
    async with cluster_with_operator() as (world, process):
        await started(world, pytorch())
        writes = process.transport.writes
        await asyncio.sleep(1000)
        assert process.transport.writes == writes


@pytest.mark.shows("E-012")
async def test_a_job_that_is_gone_when_it_is_reconciled() -> None:
    async with cluster_with_operator() as (world, process):
        await asyncio.sleep(SETTLED)
        await world.api.create(jax(suspend=True))
        await world.api.delete("JAXJob", "jx")
        await asyncio.sleep(SETTLED)
        assert (await world.pods(), process.complaints, process.remembered) == ([], [], 0)


@pytest.mark.shows("E-022")
async def test_a_new_process_reconciles_every_job_once() -> None:
    async with cluster() as world:
        for number in range(5):
            await world.api.create(jax(f"j{number}", workers=1))
        world.operator()
        await asyncio.sleep(SETTLED)
        assert len(await world.pods()) == 5
