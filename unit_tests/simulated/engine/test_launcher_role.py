"""The Role of an MPIJob's launcher: it names the workers that are there and the job's, and no others at any time."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator

import pytest
from e2e.support.objects import pod
from e2e.support.simulation.api import Json
from e2e.support.simulation.cluster import Cluster, cluster_with_operator, started
from e2e.support.simulation.faults import rejecting, status
from e2e.support.simulation.jobs import mpi
from e2e.support.simulation.process import Process

pytestmark = pytest.mark.virtual_time

SETTLED = 5.0
MANY = 100


async def entered(world: Cluster) -> list[str]:
    """The pods that the launcher may enter."""
    return named(await world.get("Role", "mp-launcher"))


def named(role: Json) -> list[str]:
    return [name for rule in role["rules"] if rule["resources"] == ["pods/exec"] for name in rule["resourceNames"]]


def workers(*indexes: int) -> list[str]:
    return [f"mp-worker-{index}" for index in indexes]


async def take(world: Cluster, name: str) -> None:
    """Give another owner a pod of this name, as a StatefulSet `mp-worker` would."""
    owner = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "mp-worker", "uid": "theirs", "controller": True}
    labels = {"training.kubeflow.org/job-name": "mp", "training.kubeflow.org/replica-type": "worker"}
    metadata = {"ownerReferences": [owner], "labels": labels, "finalizers": ["example.com/held"]}
    await world.api.create(pod(name, meta=metadata))


def written(process: Process, method: str, what: str) -> Iterator[Json]:
    for request in process.transport.sent:
        if request.method == method and what in request.path and "/events" not in request.path:
            yield json.loads(request.body or b"")


@pytest.mark.shows("MPI-015")
async def test_a_pod_of_somebody_else_is_not_named() -> None:
    async with cluster_with_operator() as (world, _):
        await take(world, "mp-worker-0")
        await world.api.create(mpi(workers=3))
        await asyncio.sleep(SETTLED)
        assert await entered(world) == workers(1, 2)
        assert "mp-launcher" not in await world.pods()


async def test_the_launcher_begins_when_its_role_names_all_workers_and_it_is_written_once_for_them() -> None:
    async with cluster_with_operator(mpi(workers=MANY), SETTLED) as (_, process):
        sent = [
            (request.method, request.path.rpartition("/")[2], json.loads(request.body or b"null"))
            for request in process.transport.sent
            if request.method in ("POST", "PUT") and ("/roles" in request.path or "/pods" in request.path)
        ]
        begun = next(
            i
            for i, (_, _, body) in enumerate(sent)
            if body["metadata"]["name"] == "mp-launcher" and body["kind"] == "Pod"
        )
        roles = [named(body) for _, _, body in sent[:begun] if body["kind"] == "Role"]
        assert roles == [[], workers(*range(MANY))]
        assert len(list(written(process, "PUT", "/roles/"))) == 1


async def test_the_launcher_waits_while_its_role_cannot_be_written() -> None:
    async with cluster_with_operator() as (world, process):
        process.transport.reject = rejecting(status(409, "Conflict", "it has been modified"), "roles", method="PUT")
        await world.api.create(mpi())
        await asyncio.sleep(SETTLED)
        assert await world.pods() == workers(0, 1)
        process.transport.reject = lambda _request: None
        await asyncio.sleep(60)
        assert (await world.pods(), await entered(world)) == (["mp-launcher", *workers(0, 1)], workers(0, 1))


async def test_a_worker_whose_name_is_taken_before_it_is_replaced() -> None:
    async with cluster_with_operator() as (world, process):
        await started(world, mpi(workers=3))
        process.transport.reject = rejecting(status(500, "InternalError", "later"), "pods", method="POST")
        await world.api.delete("Pod", "mp-worker-1", gracePeriodSeconds=0)
        await take(world, "mp-worker-1")
        process.transport.reject = lambda _request: None
        await asyncio.sleep(SETTLED)
        assert await entered(world) == workers(0, 2)
        await world.api.patch("Pod", "mp-worker-1", {"metadata": {"finalizers": None}})
        await world.api.delete("Pod", "mp-worker-1", gracePeriodSeconds=0)
        await asyncio.sleep(90)
        assert await entered(world) == workers(0, 1, 2)


async def test_a_replaced_worker_is_named_again() -> None:
    async with cluster_with_operator() as (world, process):
        await started(world, mpi(workers=3, policy="ExitCode"))
        await world.kubelet.ended("mp-worker-1", 137)
        await asyncio.sleep(SETTLED)
        assert (await world.pods(), await entered(world)) == (["mp-launcher", *workers(0, 1, 2)], workers(0, 1, 2))
        names = [named(role) for role in written(process, "PUT", "/roles/")]
        assert names == [workers(0, 1, 2), workers(0, 2), workers(0, 1, 2)]


async def test_workers_that_fail_one_after_the_other_do_not_each_cost_a_write() -> None:
    async with cluster_with_operator() as (world, process):
        await started(world, mpi(workers=MANY, policy="ExitCode"))
        for index in range(MANY):
            await world.kubelet.ended(f"mp-worker-{index}", 137)
            await asyncio.sleep(0.02)
        await asyncio.sleep(60)
        assert await entered(world) == workers(*range(MANY))
        assert len(list(written(process, "PUT", "/roles/"))) < MANY / 5


async def test_while_the_job_is_suspended_nobody_is_named() -> None:
    async with cluster_with_operator() as (world, process):
        await started(world, mpi())
        await world.api.patch("MPIJob", "mp", {"spec": {"runPolicy": {"suspend": True}}})
        await asyncio.sleep(SETTLED)
        assert (await world.pods(), await entered(world)) == ([], [])
        order = [request for request in process.transport.sent if request.method in ("PUT", "DELETE")]
        kinds = [request.path.rpartition("/")[0].rpartition("/")[2] for request in order]
        assert kinds.index("pods") > max(index for index, kind in enumerate(kinds) if kind == "roles")
        await world.api.patch("MPIJob", "mp", {"spec": {"runPolicy": {"suspend": False}}})
        await asyncio.sleep(SETTLED)
        assert await entered(world) == workers(0, 1)


@pytest.mark.parametrize(("policy", "kept"), [("All", []), ("Running", workers(0)), ("None", workers(0, 1, 2))])
async def test_after_the_end_only_pods_that_stay_are_named(policy: str, kept: list[str]) -> None:
    async with cluster_with_operator() as (world, _):
        await started(world, mpi(workers=3, cleanPodPolicy=policy))
        await world.kubelet.ended("mp-worker-0")
        await world.kubelet.ended("mp-launcher")
        await asyncio.sleep(SETTLED)
        assert await entered(world) == kept
        if kept:
            await world.api.delete("Pod", "mp-worker-0", gracePeriodSeconds=0)
            await asyncio.sleep(SETTLED)
            assert await entered(world) == kept[1:]


async def test_a_job_that_changes_to_ssh_names_nobody_any_more() -> None:
    async with cluster_with_operator() as (world, _):
        await started(world, mpi())
        over_ssh = {"extension.training.kubeflow.org/mpi-launch": "ssh"}
        await world.api.patch("MPIJob", "mp", {"metadata": {"annotations": over_ssh}})
        await asyncio.sleep(SETTLED)
        assert await entered(world) == []


async def test_scaling_down_takes_names_away() -> None:
    async with cluster_with_operator() as (world, _):
        await started(world, mpi(workers=3))
        await world.api.patch("MPIJob", "mp", {"spec": {"mpiReplicaSpecs": {"Worker": {"replicas": 1}}}})
        await asyncio.sleep(SETTLED)
        assert await entered(world) == workers(0)
