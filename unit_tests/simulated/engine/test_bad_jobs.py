"""A job that cannot be used is one job that cannot be used (K-40, K-41)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from e2e.support.simulation.api import Json
from e2e.support.simulation.cluster import cluster
from e2e.support.simulation.jobs import conditions, jax, pytorch
from e2e.support.simulation.process import SETTINGS

pytestmark = pytest.mark.virtual_time


def broken(name: str, **spec: Any) -> Json:
    job = pytorch(name)
    job["spec"] |= spec
    return job


@pytest.mark.shows("K-40", "E-143")
@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ({"pytorchReplicaSpecs": []}, "spec.pytorchReplicaSpecs: Invalid value: []"),
        ({"pytorchReplicaSpecs": {"Worker": 3}}, "spec.pytorchReplicaSpecs[Worker]: Invalid value: 3"),
        ({"pytorchReplicaSpecs": {"Worker": {"replicas": "two"}}}, "spec.pytorchReplicaSpecs[Worker].replicas"),
        (
            {"pytorchReplicaSpecs": {"Worker": {"template": {"spec": {"containers": []}}}}},
            "spec.pytorchReplicaSpecs[Worker].template.spec.containers: Required value",
        ),
        ({"pytorchReplicaSpecs": {"Worker": {"replicas": -1}}}, "spec.pytorchReplicaSpecs[Worker].replicas"),
        ({"runPolicy": "fast"}, "spec.runPolicy: Invalid value"),
        (
            # Stored before there was a maximum.
            {"pytorchReplicaSpecs": pytorch(workers=2147483647)["spec"]["pytorchReplicaSpecs"]},
            "spec.pytorchReplicaSpecs[Worker].replicas: Invalid value: 2147483647: should be less than or equal to "
            "10000; the operator's flag --max-replicas allows up to 150000",
        ),
    ],
)
async def test_a_broken_job_gets_an_event_and_stops_no_other(spec: Json, problem: str) -> None:
    async with cluster(checks=False) as world:
        process = world.operator()
        await world.api.create(broken("bad", **spec))
        await world.api.create(pytorch("good"))
        await world.api.create(jax("fine"))
        await asyncio.sleep(30)
        (message,) = await world.events("PyTorchJobFailedValidation")
        assert message.startswith("PyTorchJob failed validation because ")
        assert problem in message
        assert len(await world.pods()) == 5
        assert "status" not in await world.job("PyTorchJob", "bad")
        assert process.complaints == []


async def test_the_flag_moves_the_maximum_of_replicas() -> None:
    async with cluster(checks=False) as world:
        world.operator(settings=SETTINGS.model_copy(update={"max_replicas": 2}))
        await world.api.create(pytorch("bad", workers=3))
        await world.api.create(pytorch("good", workers=2))
        await asyncio.sleep(30)
        assert await world.events("PyTorchJobFailedValidation") == [
            "PyTorchJob failed validation because spec.pytorchReplicaSpecs[Worker].replicas: Invalid value: 3: should "
            "be less than or equal to 2; the operator's flag --max-replicas allows up to 150000"
        ]
        assert len(await world.pods()) == 3


async def test_a_job_that_is_mended_runs() -> None:
    async with cluster(checks=False) as world:
        world.operator()
        await world.api.create(broken("bad", pytorchReplicaSpecs={"Worker": {"replicas": "two"}}))
        await asyncio.sleep(10)
        await world.api.patch("PyTorchJob", "bad", {"spec": pytorch()["spec"]})
        await asyncio.sleep(3)
        assert len(await world.pods()) == 3
        assert conditions(await world.job("PyTorchJob", "bad")) == {"Created": "True"}


async def test_a_finished_job_with_a_bad_spec_still_expires() -> None:
    async with cluster(checks=False) as world:
        world.operator()
        await world.api.create(jax(workers=1, ttlSecondsAfterFinished=60))
        await asyncio.sleep(3)
        await world.kubelet.ended("jx-worker-0")
        await asyncio.sleep(3)
        await world.api.patch("JAXJob", "jx", {"spec": {"jaxReplicaSpecs": {"Worker": {"replicas": -5}}}})
        await asyncio.sleep(60)
        assert await world.api.get("JAXJob", "jx") is None
