"""`python -m e2e.bench.hostile`: what one user can do to the operator of all, with the memory that it is shipped with.

Each attack runs beside 100 jobs of other tenants, of which one after the other ends and a new one comes. Printed are
the operator's peak memory, the longest time for which its probe did not answer (and how much of it the operator
computed: the rest it waited for a processor), and the lags of the others: from a job's creation until its pod is there,
from a pod's end until its job says so. At last so many replicas as there may be are placed, against the floor: the same
objects created directly.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

import uvloop
from e2e.bench.hostile.attacks import define, huge, many_without_room, refusals
from e2e.bench.hostile.scenes import Cost, Scene, scene
from e2e.bench.one_job import ENDPOINT_SLICES
from e2e.harness.bare import bare
from e2e.harness.client import Api, connect, eventually
from e2e.harness.cluster import Cluster
from e2e.harness.errors import HarnessError
from e2e.harness.floor import fast_client, made_in
from e2e.harness.jobs import Namespace, job

from training_api.constants import MAX_REPLICAS, MOST_REPLICAS
from training_operator.kube.resources import PODS, SERVICES

STORED = (2**31 - 1, 1_000_000, 400_000)
"""Workers of jobs from before the maximum."""
PLACED_WITHIN = 1800.0
PAUSE = 0.05
"""Seconds between two jobs of the others."""


def say(what: str, cost: Cost) -> None:
    """Print one line."""
    print(f"{what:<64}{cost}", flush=True)


async def play(cluster: Cluster, api: Api, folder: Path, seconds: float, others: int) -> None:
    """All attacks, and the placement."""
    somewhere = Namespace(api, "default")
    await define(api, somewhere, None)
    async with scene(cluster, api, folder, others, PAUSE) as (stage, limited):
        print("the memory limit is " + ("enforced by a control group" if limited else "NOT enforced on this machine"))
        hostile = await stage.namespace()
        say("nobody attacks", await stage.under(_nothing, hostile, seconds))
        for workers in STORED:
            cost = await stage.under(partial(huge, workers=workers), hostile, seconds)
            say(f"one job of {workers:,} workers, stored without maximum", cost)
        pods = await _count(api, PODS.path(hostile.name))
        print(f"    events about them: {len(await refusals(api, hostile))}, pods: {pods}")
    async with scene(cluster, api, folder, others, PAUSE) as (stage, _):
        say("the operator starts again with all of them", await stage.under(_nothing, hostile, seconds))
        await _place(cluster, stage, MAX_REPLICAS)
    await define(api, somewhere, MOST_REPLICAS)
    flag = f"--max-replicas={MOST_REPLICAS}"
    async with scene(cluster, api, folder, others, PAUSE, flag) as (stage, _):
        hostile = await stage.namespace()
        attack = partial(many_without_room, jobs=20, workers=100_000)
        say(f"20 jobs of 100,000 without room for a pod, {flag}", await stage.under(attack, hostile, 3 * seconds))
        services = await _count(api, SERVICES.path(hostile.name))
        print(f"    services: {services:,}, pods: {await _count(api, PODS.path(hostile.name))}")


async def _nothing(_api: Api, _namespace: Namespace) -> None:
    """Attack nobody."""


async def _place(cluster: Cluster, stage: Scene, replicas: int) -> None:
    """Place as many replicas as there may be, and create the same objects directly."""
    namespace, body = await stage.namespace(), job("large", Worker=replicas)

    async def placed(_api: Api, namespace: Namespace) -> None:
        await namespace.create(body)
        await _counted(stage.api, PODS.path(namespace.name), replicas)

    begun = time.perf_counter()
    cost = await stage.under(placed, namespace, 0)
    seconds = time.perf_counter() - begun
    assert await _count(stage.api, SERVICES.path(namespace.name)) == replicas
    say(f"one job of {replicas:,} workers, placed in {seconds:.1f} s", cost)
    objects = await made_in(stage.api, namespace.name)
    await stage.api.delete(f"{namespace.jobs('PyTorchJob')}/large", "Orphan")
    await _empty(stage.api, namespace)
    floor = await stage.namespace()
    async with fast_client(cluster) as client:
        begun = time.perf_counter()
        for _, each in objects:
            each["metadata"].pop("ownerReferences")
        await asyncio.gather(*(client.create(resource, floor.name, each) for resource, each in objects))
        direct = time.perf_counter() - begun
    print(f"    the same objects created directly: {direct:.1f} s; placed / floor {seconds / direct:.2f}", flush=True)
    await _empty(stage.api, floor)


async def _empty(api: Api, namespace: Namespace) -> None:
    """Delete pods and services, page by page, so that they disturb nothing that follows."""
    for resource in (PODS, SERVICES):
        names = [each["metadata"]["name"] for each in (await api.call("GET", resource.path(namespace.name)))["items"]]
        for begin in range(0, len(names), 32):
            paths = (resource.path(namespace.name, name) for name in names[begin : begin + 32])
            await asyncio.gather(*(api.call("DELETE", path, {"gracePeriodSeconds": 0}) for path in paths))
    await _counted(api, ENDPOINT_SLICES.format(namespace.name), 0)


async def _counted(api: Api, path: str, number: int) -> None:
    async def reached() -> bool:
        return await _count(api, path) == number

    await eventually(reached, f"{number} objects at {path}", PLACED_WITHIN, 0.2)


async def _count(api: Api, path: str) -> int:
    page = await api.call("GET", f"{path}?limit=1")
    return len(page["items"]) + int(page["metadata"].get("remainingItemCount", 0))


async def _run(cluster: Cluster, seconds: float, others: int) -> None:
    with tempfile.TemporaryDirectory(prefix="training-hostile-") as folder:
        async with connect(cluster.kubeconfig) as api:
            await play(cluster, api, Path(folder), seconds, others)


def main() -> int:
    """Play and print."""
    parser = argparse.ArgumentParser(prog="python -m e2e.bench.hostile", description=__doc__)
    parser.add_argument("--seconds", type=float, default=20, help="to look on after each attack (default: 20)")
    parser.add_argument("--others", type=int, default=100, help="jobs of other tenants (default: 100)")
    given = parser.parse_args()
    try:
        with bare() as cluster:
            uvloop.run(_run(cluster, given.seconds, given.others))
    except HarnessError as error:
        print(f"hostile: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
