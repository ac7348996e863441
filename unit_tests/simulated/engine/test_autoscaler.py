"""The autoscaler of an elastic PyTorchJob: there while the job is active, changed with it, never one of others."""

from __future__ import annotations

import asyncio

import pytest
from e2e.support.simulation.cluster import cluster, cluster_with_operator
from e2e.support.simulation.faults import status
from e2e.support.simulation.jobs import conditions, elastic

from training_operator.kube.transport import Request

pytestmark = pytest.mark.virtual_time

HPA = "HorizontalPodAutoscaler"


async def test_it_follows_the_job() -> None:
    async with cluster_with_operator(elastic()) as (world, _):
        hpa = await world.get(HPA, "pt")
        assert (hpa["spec"]["minReplicas"], hpa["spec"]["maxReplicas"]) == (1, 4)
        await world.api.patch("PyTorchJob", "pt", {"spec": elastic(maximum=6)["spec"]})
        await asyncio.sleep(3)
        hpa = await world.get(HPA, "pt")
        assert hpa["spec"]["maxReplicas"] == 6
        await world.api.patch("PyTorchJob", "pt", {"spec": {"runPolicy": {"suspend": True}}})
        await asyncio.sleep(3)
        assert await world.api.get(HPA, "pt") is None


async def test_somebody_elses_is_ignored_and_holds_nothing_up() -> None:
    async with cluster() as world:
        target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
        foreign = {"apiVersion": "autoscaling/v2", "kind": HPA, "metadata": {"name": "pt"}}
        await world.api.create(foreign | {"spec": {"scaleTargetRef": target, "maxReplicas": 3}})
        world.operator()
        await world.api.create(elastic())
        await asyncio.sleep(100)
        hpa = await world.get(HPA, "pt")
        assert hpa["spec"]["scaleTargetRef"]["name"] == "web"
        assert len(await world.pods()) == 2
        assert "waiting" not in (await world.job("PyTorchJob", "pt"))["status"]
        (message,) = await world.events("NameTaken")
        assert message == (
            "NameTaken by a HorizontalPodAutoscaler that no job controls: HorizontalPodAutoscaler pt already exists "
            "and is not changed; the job gets its own once the name is free"
        )


async def test_no_permission_for_autoscalers_holds_nothing_up_and_is_logged_once() -> None:
    async with cluster_with_operator() as (world, process):

        def is_meant(request: Request) -> bool:
            return request.method == "POST" and "/horizontalpodautoscalers" in request.path

        process.transport.reject = lambda request: status(403, "Forbidden", "no") if is_meant(request) else None
        await world.api.create(elastic())
        await asyncio.sleep(300)
        assert len(await world.pods()) == 2
        assert conditions(await world.job("PyTorchJob", "pt"))["Created"] == "True"
        assert await world.events("FailedHorizontalPodAutoscaler") == [
            "Error on create of HorizontalPodAutoscaler pt: no"
        ]
        assert len([each for each in process.transport.sent if is_meant(each)]) < 12
        process.transport.reject = lambda request: None
        await asyncio.sleep(300)
        assert await world.api.get(HPA, "pt") is not None
