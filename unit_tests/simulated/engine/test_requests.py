"""How many requests a job's life takes, from its creation until it has succeeded and its services are gone."""

from __future__ import annotations

import asyncio
import re
from collections import Counter

import pytest
from e2e.support.objects import service
from e2e.support.simulation.api import Json
from e2e.support.simulation.cluster import Cluster, cluster, cluster_with_operator, started
from e2e.support.simulation.faults import status
from e2e.support.simulation.jobs import conditions, jax, pytorch

from training_operator.kube.transport import Request, Response

pytestmark = pytest.mark.virtual_time

SETTLED = 15.0
SERVICES = "/api/v1/namespaces/default/services"


def counted(world: Cluster) -> Counter[str]:
    """The requests of the operator, leases left out; watches are no requests."""
    words = ("status", "events", "services", "pods", "pytorchjobs", "jaxjobs")
    sent = ((r.method, next((word for word in words if f"/{word}" in r.path), "")) for r in _sent(world))
    return Counter(" ".join(each) for each in sent if each[1])


def _sent(world: Cluster) -> list[Request]:
    return world.processes[0].transport.sent


async def lived(world: Cluster, job: Json) -> None:
    """Let a job run and succeed, all its pods at once."""
    names = await started(world, job, SETTLED)
    for name in names:
        await world.kubelet.ended(name)
    await asyncio.sleep(SETTLED)
    assert conditions(await world.job(job["kind"], job["metadata"]["name"]))["Succeeded"] == "True"
    assert all("stranger" in name for name in await world.services())


async def test_a_job_of_four_takes_sixteen_requests() -> None:
    async with cluster_with_operator() as (world, _):
        await lived(world, pytorch("life", workers=3))
        assert counted(world) == {
            "POST services": 4,
            "POST pods": 4,
            "PATCH status": 3,
            "DELETE services": 1,
            "POST events": 4,
        }
        pods = [f"life-{name}" for name in ("master-0", "worker-0", "worker-1", "worker-2")]
        assert await world.events("SuccessfulCreatePod") == [f"Created pods: {', '.join(pods)}"]
        ended = ", ".join(f"default.{name}" for name in pods)
        assert await world.events("ExitedWithCode") == [f"Pods: {ended} exited with code 0"]
        assert await world.events("SuccessfulDeleteService") == []


async def test_a_job_of_two_is_reconciled_only_when_there_is_something_to_do() -> None:
    """To create its pods, to say so, that it runs, that it has ended; to clean up.

    Twice more because here the watch shows two statuses before their requests are answered.
    """
    async with cluster_with_operator() as (world, _):
        await lived(world, pytorch("life", workers=1))
        page = world.processes[0].app.metrics.exposition().decode()
        looks = re.findall(r"^controller_runtime_reconcile_total\{.*\} (\S+)$", page, re.MULTILINE)
        assert sum(map(float, looks)) == 5 + 2


async def test_a_job_of_three_hundred_takes_few_requests_beside_those_for_its_objects() -> None:
    async with cluster_with_operator() as (world, _):
        await lived(world, pytorch("life", workers=299))
        assert counted(world).total() <= 615
        assert (await world.events("SuccessfulCreatePod"))[0].endswith(", life-worker-8 and 91 more")


async def test_a_service_with_the_labels_of_a_job_that_is_not_its_own_survives_its_end() -> None:
    async with cluster_with_operator() as (world, _):
        await started(world, jax(workers=3))
        own = await world.get("Service", "jx-worker-0")
        await world.api.create(service("stranger", meta={"labels": own["metadata"]["labels"]}))
        for name in await world.pods():
            await world.kubelet.ended(name)
        await asyncio.sleep(SETTLED)
        assert await world.services() == ["stranger"]


async def test_without_the_permission_to_delete_collections_services_go_one_by_one() -> None:
    async with cluster() as world:
        transport = world.operator().transport
        collections: list[Request] = []

        def reject(request: Request) -> Response | None:
            if (request.method, request.path) != ("DELETE", SERVICES):
                return None
            collections.append(request)
            return status(403, "Forbidden", "this account may not delete collections")

        transport.reject = reject
        await lived(world, jax("first", workers=3, cleanPodPolicy="All"))
        await lived(world, jax("second", workers=3))
        assert counted(world)["DELETE services"] == 1 + 6
        assert len(collections) == 1, "it is sent once"
