"""MPIJobs with the whole operator: config map, account, role and binding beside the pods, and who may touch them."""

from __future__ import annotations

import asyncio
import json

import pytest
from e2e.support.objects import pod
from e2e.support.simulation.cluster import Cluster, cluster, cluster_with_operator, started
from e2e.support.simulation.faults import rejecting, status
from e2e.support.simulation.jobs import conditions, counters, mpi
from e2e.support.simulation.process import Process

pytestmark = pytest.mark.virtual_time

SETTLED = 5.0
OBJECTS = (
    ("ServiceAccount", "mp-launcher"),
    ("ConfigMap", "mp-config"),
    ("Role", "mp-launcher"),
    ("RoleBinding", "mp-launcher"),
)
PODS = ["mp-launcher", "mp-worker-0", "mp-worker-1"]


async def uids(world: Cluster) -> dict[str, str]:
    """Uid of each object beside the pods."""
    found = {kind: await world.api.get(kind, name) for kind, name in OBJECTS}
    return {kind: each["metadata"]["uid"] for kind, each in found.items() if each is not None}


async def hosts(world: Cluster) -> list[str]:
    """What the discovery script prints, in its own words."""
    config = await world.get("ConfigMap", "mp-config")
    return str(config["data"]["discover_hosts.sh"]).splitlines()[1:]


async def test_objects_workers_and_launcher_in_this_order_and_no_services() -> None:
    async with cluster_with_operator() as (world, process):
        await started(world, mpi())
        wanted = ("serviceaccounts", "configmaps", "roles", "rolebindings", "pods", "services")
        sent = [request for request in process.transport.sent if request.method == "POST"]
        posts = [plural for request in sent if (plural := request.path.rpartition("/")[2]) in wanted]
        assert posts == [*wanted[:4], "pods", "pods", "pods"]
        pods = [json.loads(request.body or b"") for request in sent if request.path.endswith("pods")]
        assert [pod["metadata"]["name"] for pod in pods] == ["mp-worker-0", "mp-worker-1", "mp-launcher"]
        assert conditions(await world.job("MPIJob", "mp")) == {"Created": "True", "Running": "True"}
        assert await world.events("MPIJobRunning") == [
            "launcher pod created success: mp-launcher",
            "MPIJob default/mp is running",
        ]
        assert await world.events("SuccessfulCreatePod") == [
            "Created worker pod: mp-worker-0",
            "Created worker pod: mp-worker-1",
        ]


async def test_the_discovery_script_follows_the_running_workers() -> None:
    async with cluster_with_operator(mpi(workers=3), SETTLED) as (world, _):
        assert await hosts(world) == []
        await world.kubelet.running("mp-launcher", "mp-worker-0", "mp-worker-2")
        await asyncio.sleep(SETTLED)
        assert await hosts(world) == ["echo mp-worker-0:1", "echo mp-worker-2:1"]
        await world.api.patch("MPIJob", "mp", {"spec": {"mpiReplicaSpecs": {"Worker": {"replicas": 1}}}})
        await asyncio.sleep(SETTLED)
        assert await hosts(world) == ["echo mp-worker-0:1"]
        role = await world.get("Role", "mp-launcher")
        assert role["rules"][1]["resourceNames"] == ["mp-worker-0"]
        assert await world.pods() == ["mp-launcher", "mp-worker-0"]


@pytest.mark.parametrize(("kind", "name"), OBJECTS)
async def test_what_is_deleted_while_the_job_runs_is_made_again(kind: str, name: str) -> None:
    async with cluster_with_operator() as (world, _):
        await started(world, mpi())
        before = await uids(world)
        await world.api.delete(kind, name)
        await asyncio.sleep(SETTLED)
        after = await uids(world)
        assert after.keys() == before.keys()
        assert {each for each in before if before[each] != after[each]} == {kind}


async def test_what_somebody_changed_is_reconciled() -> None:
    async with cluster_with_operator() as (world, _):
        await started(world, mpi())
        await world.api.patch("ConfigMap", "mp-config", {"data": {"hostfile": "elsewhere slots=9\n"}})
        await world.api.patch("Role", "mp-launcher", {"rules": []})
        await asyncio.sleep(SETTLED)
        config, role = await world.get("ConfigMap", "mp-config"), await world.get("Role", "mp-launcher")
        assert config["data"]["hostfile"] == "mp-worker-0 slots=1\nmp-worker-1 slots=1\n"
        assert len(role["rules"]) == 2


async def test_the_user_s_account_is_used_and_not_changed() -> None:
    async with cluster_with_operator() as (world, process):
        await world.api.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "mine"}})
        job = mpi()
        job["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]["serviceAccountName"] = "mine"
        await started(world, job)
        await asyncio.sleep(600)
        account = await world.get("ServiceAccount", "mine")
        assert "ownerReferences" not in account["metadata"]
        assert await world.events("NameTaken") == []
        attempts = [r for r in process.transport.sent if r.method == "POST" and r.path.endswith("/serviceaccounts")]
        assert len(attempts) < 15
        assert conditions(await world.job("MPIJob", "mp"))["Running"] == "True"


async def test_without_permission_to_create_roles_there_is_no_binding_and_no_pod() -> None:
    async with cluster_with_operator() as (world, process):
        process.transport.reject = rejecting(status(403, "Forbidden", "no"), "roles", method="POST")
        await world.api.create(mpi())
        await asyncio.sleep(100)
        assert await world.events("FailedRole") == ["Error on create of Role mp-launcher: no"]
        assert (await uids(world)).keys() == {"ServiceAccount", "ConfigMap"}
        assert await world.pods() == []
        waiting = (await world.job("MPIJob", "mp"))["status"]["waiting"]
        assert waiting["message"] == "Role mp-launcher cannot be created: no"
        process.transport.reject = lambda _request: None
        await asyncio.sleep(130)
        assert await world.pods() == PODS
        assert "waiting" not in (await world.job("MPIJob", "mp"))["status"]


REJECTIONS = {
    "Quota": 'pods "x" is forbidden: exceeded quota: small, requested: pods=1, used: pods=2, limited: pods=2',
    "InvalidTemplate": 'pods "x" is forbidden: pod rejected: RuntimeClass "gvisor" not found',
}


def reject_pods_named(process: Process, word: str, text: str) -> None:
    process.transport.reject = rejecting(status(403, "Forbidden", text), "pods", method="POST", name=word)


@pytest.mark.parametrize("rejected", ["worker", "worker-1"])
@pytest.mark.parametrize("reason", REJECTIONS)
async def test_the_launcher_waits_while_workers_are_rejected_as_the_status_says(reason: str, rejected: str) -> None:
    async with cluster_with_operator() as (world, process):
        reject_pods_named(process, rejected, REJECTIONS[reason])
        await world.api.create(mpi())
        await asyncio.sleep(100)
        assert await world.pods() == [name for name in PODS[1:] if rejected not in name]
        waiting = (await world.job("MPIJob", "mp"))["status"]["waiting"]
        assert waiting["reason"] == reason
        assert waiting["message"].startswith("pod mp-worker-") and REJECTIONS[reason] in waiting["message"]
        process.transport.reject = lambda _request: None
        await asyncio.sleep(130)
        assert await world.pods() == PODS
        assert "waiting" not in (await world.job("MPIJob", "mp"))["status"]


async def test_the_launcher_waits_for_a_worker_whose_name_somebody_else_has() -> None:
    async with cluster() as world:
        await world.api.create(pod("mp-worker-1"))
        world.operator()
        await world.api.create(mpi())
        await asyncio.sleep(100)
        assert await world.pods() == ["mp-worker-0", "mp-worker-1"]
        assert (await world.job("MPIJob", "mp"))["status"]["waiting"]["reason"] == "NameTaken"
        await world.api.delete("Pod", "mp-worker-1", gracePeriodSeconds=0)
        await asyncio.sleep(65)
        assert await world.pods() == PODS


async def test_the_launcher_begins_when_the_workers_that_are_rejected_are_scaled_away() -> None:
    async with cluster() as world:
        reject_pods_named(world.operator(), "worker-1", REJECTIONS["Quota"])
        await world.api.create(mpi())
        await asyncio.sleep(SETTLED)
        assert await world.pods() == ["mp-worker-0"]
        await world.api.patch("MPIJob", "mp", {"spec": {"mpiReplicaSpecs": {"Worker": {"replicas": 1}}}})
        await asyncio.sleep(SETTLED)
        assert await world.pods() == ["mp-launcher", "mp-worker-0"]
        assert "waiting" not in (await world.job("MPIJob", "mp"))["status"]


async def test_workers_that_are_rejected_leave_a_launcher_alone_that_runs() -> None:
    async with cluster_with_operator() as (world, process):
        await started(world, mpi())
        reject_pods_named(process, "worker", REJECTIONS["Quota"])
        await world.api.patch("MPIJob", "mp", {"spec": {"mpiReplicaSpecs": {"Worker": {"replicas": 3}}}})
        await asyncio.sleep(100)
        job = await world.job("MPIJob", "mp")
        assert (await world.pods(), job["status"]["waiting"]["reason"]) == (PODS, "Quota")
        assert conditions(job)["Running"] == "True"


async def test_a_launcher_that_restarts_waits_for_a_worker_that_is_rejected() -> None:
    async with cluster_with_operator() as (world, process):
        await started(world, mpi(policy="ExitCode"))
        reject_pods_named(process, "worker", REJECTIONS["Quota"])
        await world.api.delete("Pod", "mp-worker-1")
        await asyncio.sleep(SETTLED)
        await world.kubelet.ended("mp-launcher", 137)
        await asyncio.sleep(100)
        assert await world.pods() == ["mp-worker-0"]
        process.transport.reject = lambda _request: None
        await asyncio.sleep(300)
        assert await world.pods() == PODS
        assert counters(await world.job("MPIJob", "mp"), "Launcher")["restarts"] == 1


@pytest.mark.shows("K-42")
async def test_workers_that_a_failed_job_keeps_are_active() -> None:
    async with cluster_with_operator() as (world, _):
        await started(world, mpi(cleanPodPolicy="None"))
        for name, active in (("mp-worker-0", 1), ("mp-launcher", 1), ("mp-worker-1", 0)):
            await world.kubelet.ended(name, 1)
            await asyncio.sleep(SETTLED)
            job = await world.job("MPIJob", "mp")
            assert list(conditions(job))[-1] == "Failed"
            assert counters(job).get("active", 0) == active


async def test_the_launcher_ends_the_job_and_nothing_is_left_when_it_is_deleted() -> None:
    async with cluster_with_operator() as (world, _):
        await started(world, mpi(cleanPodPolicy="Running"))
        await world.kubelet.ended("mp-launcher")
        await asyncio.sleep(SETTLED)
        job = await world.job("MPIJob", "mp")
        assert list(conditions(job))[-1] == "Succeeded"
        assert counters(job, "Launcher")["succeeded"] == 1
        assert counters(job) == {}
        assert await world.pods() == ["mp-launcher"]
        await world.api.delete("MPIJob", "mp")
        await asyncio.sleep(SETTLED)
        assert await uids(world) == {}
        assert await world.pods() == []


async def test_a_restarted_operator_changes_nothing() -> None:
    async with cluster() as world:
        first = world.operator()
        await started(world, mpi())
        before = await uids(world)
        await first.kill()
        second = world.operator()
        await asyncio.sleep(30)
        assert await uids(world) == before
        writes = [request for request in second.transport.sent if request.method != "GET"]
        assert [request.path for request in writes if "/events" not in request.path] == []
