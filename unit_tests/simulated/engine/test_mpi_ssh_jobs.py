"""MPIJobs over SSH with the whole operator: keys are made once, never read, and no permission pods/exec is needed."""

from __future__ import annotations

import asyncio
import json
import logging

import pytest
from e2e.support.simulation.api import Json
from e2e.support.simulation.cluster import Cluster, cluster, cluster_with_operator
from e2e.support.simulation.faults import rejecting, status
from e2e.support.simulation.jobs import conditions, extended, mpi

from training_operator.kube.transport import Request

pytestmark = pytest.mark.virtual_time

SETTLED = 5.0
PODS = ["mp-launcher", "mp-worker-0", "mp-worker-1"]
BESIDE = ("ServiceAccount", "ConfigMap", "Role", "RoleBinding", "Service", "Secret")


def ssh_mpi() -> Json:
    return extended(mpi(), "mpi-launch", "ssh")


async def uids(world: Cluster) -> dict[str, str]:
    """Uid of each of the job's objects beside pods, by kind."""
    found = [(kind, each["metadata"]) for kind in BESIDE for each in await world.api.list(kind)]
    return {kind: metadata["uid"] for kind, metadata in found if metadata["name"].startswith("mp-")}


async def beside(world: Cluster) -> list[str]:
    """The kinds of owned objects beside pods."""
    return list(await uids(world))


def is_secret(request: Request) -> bool:
    return "/secrets" in request.path


async def test_keys_and_network_come_before_the_pods_and_go_with_the_job(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with cluster_with_operator(ssh_mpi(), SETTLED) as (world, process):
        await world.kubelet.running(*await world.pods())
        await asyncio.sleep(SETTLED)
        assert await world.pods() == PODS
        assert await beside(world) == ["ConfigMap", "Service", "Secret"]
        assert conditions(await world.job("MPIJob", "mp")) == {"Created": "True", "Running": "True"}
        posts = [request.path.rpartition("/")[2] for request in process.transport.sent if request.method == "POST"]
        assert [each for each in posts if each != "events"] == ["configmaps", "services", "secrets", *["pods"] * 3]
        assert [request.method for request in process.transport.sent if is_secret(request)] == ["POST"]
        texts = json.dumps(await world.api.list("Event")) + caplog.text
        assert "PRIVATE KEY" not in texts
        await world.api.delete("MPIJob", "mp")
        await asyncio.sleep(SETTLED)
        assert await beside(world) == []


async def test_a_restarted_operator_keeps_the_keys_and_never_reads_them() -> None:
    async with cluster() as world:
        first = world.operator()
        await world.api.create(ssh_mpi())
        await asyncio.sleep(SETTLED)
        before = await uids(world)
        await first.kill()
        second = world.operator()
        await asyncio.sleep(600)
        assert await uids(world) == before
        assert [request.method for request in second.transport.sent if is_secret(request)] == ["POST"]
        assert await world.events("NameTaken") == []


async def test_a_lost_answer_is_cleared_up_without_reading() -> None:
    async with cluster_with_operator() as (world, process):
        lost = status(504, "Timeout", "no answer")
        process.transport.reject = rejecting(lost, "secrets", method="POST", times=1)
        await world.api.create(ssh_mpi())
        await asyncio.sleep(60)
        assert {request.method for request in process.transport.sent if is_secret(request)} == {"POST"}
        assert await beside(world) == ["ConfigMap", "Service", "Secret"]


async def test_without_permission_to_create_secrets_the_job_says_what_is_missing_and_goes_on_once_it_is_there() -> None:
    async with cluster_with_operator() as (world, process):
        process.transport.reject = rejecting(status(403, "Forbidden", "secrets is forbidden"), "secrets")
        await world.api.create(ssh_mpi())
        await asyncio.sleep(100)
        (message,) = await world.events("FailedSecret")
        advice = "MPI over SSH needs permission to create Secrets: deploy/components"
        assert f"is forbidden; {advice}" in message
        assert await world.pods() == []
        waiting = (await world.job("MPIJob", "mp"))["status"]["waiting"]
        assert (waiting["reason"], waiting["message"]) == ("SecretMissing", message)
        process.transport.reject = lambda _request: None
        await asyncio.sleep(600)
        assert (await beside(world), await world.pods()) == (["ConfigMap", "Service", "Secret"], PODS)
        await world.kubelet.running("mp-launcher")
        await asyncio.sleep(SETTLED)
        assert "waiting" not in (await world.job("MPIJob", "mp"))["status"]


async def test_a_job_of_the_same_name_gets_keys_of_its_own_and_soon_the_other_objects() -> None:
    async with cluster_with_operator(ssh_mpi(), SETTLED) as (world, _):
        before = await uids(world)
        await world.api.delete("MPIJob", "mp")
        await world.api.create(ssh_mpi())
        await asyncio.sleep(20)
        after = await uids(world)
        assert before.keys() == after.keys()
        assert not {*before.values()} & {*after.values()}
        assert await world.events("NameTaken") == []


async def test_a_service_that_is_deleted_comes_back_and_goes_with_the_end() -> None:
    async with cluster_with_operator(ssh_mpi(), SETTLED) as (world, _):
        await world.api.delete("Service", "mp-mpi")
        await asyncio.sleep(SETTLED)
        assert await beside(world) == ["ConfigMap", "Service", "Secret"]
        await world.kubelet.running(*PODS)
        await world.kubelet.ended("mp-launcher")
        await asyncio.sleep(SETTLED)
        assert await beside(world) == ["ConfigMap", "Secret"]
