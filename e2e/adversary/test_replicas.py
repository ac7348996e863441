"""No number of replicas that one user asks for ends the operator, or holds up other tenants.

`python -m e2e.bench.hostile` does the same for longer, with more jobs, and prints what it costs.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from functools import partial
from pathlib import Path

import pytest
from e2e.bench.hostile.attacks import define, huge, many_without_room, rejections
from e2e.bench.hostile.limited import shipped_limit
from e2e.bench.hostile.scenes import Cost, scene
from e2e.harness.bare import bare
from e2e.harness.client import Api, connect, eventually
from e2e.harness.cluster import Cluster
from e2e.harness.jobs import Namespace, job
from e2e.support import marks

from training_api.constants import MOST_REPLICAS
from training_controllers.decide.replicas import FIRST_AT_ONCE
from training_operator.kube.resources import PODS, SERVICES

pytestmark = marks.bare

OTHERS, PAUSE, LAGS = 10, 0.05, 12
MOST_COMPUTING_MS = 250
"""What the event loop may do at a time without looking at anything else, in milliseconds of a processor."""


@pytest.fixture(scope="module")
def own_cluster() -> Iterator[Cluster]:
    """A control plane of its own, because definitions change."""
    with bare() as cluster:
        yield cluster


@pytest.fixture
async def own_api(own_cluster: Cluster) -> AsyncIterator[Api]:
    async with connect(own_cluster.kubeconfig) as api:
        yield api


def assert_harmless(cost: Cost) -> None:
    """Others have hardly noticed it."""
    assert cost.peak_mb * 2**20 < shipped_limit() / 2
    assert cost.heartbeat.computing_ms <= MOST_COMPUTING_MS
    assert cost.lags >= LAGS, "the jobs of others go on"


async def number(api: Api, path: str) -> int:
    return len((await api.call("GET", path))["items"])


async def test_huge_jobs_without_maximum_are_bad_jobs(own_cluster: Cluster, own_api: Api, tmp_path: Path) -> None:
    await define(own_api, Namespace(own_api, "default"), None)
    numbers = (2**31 - 1, 1_000_000, 400_000)
    async with scene(own_cluster, own_api, tmp_path, OTHERS, PAUSE) as (stage, _):
        hostile = await stage.namespace()

        async def all_of_them(api: Api, namespace: Namespace) -> None:
            await asyncio.gather(*(huge(api, namespace, workers=workers) for workers in numbers))

        assert_harmless(await stage.under(all_of_them, hostile, lags=LAGS))

        async def told() -> bool:
            return len(await rejections(own_api, hostile)) == len(numbers)

        await eventually(told, "an event about each")
        said = sorted(await rejections(own_api, hostile))
        assert said == sorted(
            f"PyTorchJob failed validation because spec.pytorchReplicaSpecs[Worker].replicas: Invalid value: {workers}"
            ": should be less than or equal to 10000; the operator's flag --max-replicas allows up to 150000"
            for workers in numbers
        )
        assert await number(own_api, SERVICES.path(hostile.name)) == 0
    async with scene(own_cluster, own_api, tmp_path, OTHERS, PAUSE) as (stage, _):
        assert_harmless(await stage.under(_nothing, hostile, lags=LAGS))


async def test_large_jobs_without_room_for_a_pod_wait(own_cluster: Cluster, own_api: Api, tmp_path: Path) -> None:
    await define(own_api, Namespace(own_api, "default"), MOST_REPLICAS)
    flag = f"--max-replicas={MOST_REPLICAS}"
    async with scene(own_cluster, own_api, tmp_path, OTHERS, PAUSE, flag) as (stage, _):
        hostile, jobs = await stage.namespace(), 5
        attack = partial(many_without_room, jobs=jobs, workers=100_000)
        assert_harmless(await stage.under(attack, hostile, lags=LAGS))
        await hostile.waits(job("full-0"), "Quota", limit=120)
        assert await number(own_api, SERVICES.path(hostile.name)) <= jobs * FIRST_AT_ONCE
        assert await number(own_api, PODS.path(hostile.name)) == 0


async def _nothing(_api: Api, _namespace: Namespace) -> None:
    """No attack."""
