"""`python -m e2e.bench.hostile`: what one user can do to the operator of all, with the memory that it is shipped with.

Each attack runs beside 100 jobs of other tenants, of which one after the other ends and a new one comes. Printed are
the operator's peak memory, the longest time for which its probe did not answer (`probe`), and the lags of the others:
from a job's creation until its pod is there, from a pod's end until its job says so. Floors of the same moments are
what a program takes to answer that has nothing else to do, and what this one takes to create a service and a pod. At
last as many replicas as there may be are placed, against a tenth of the same objects, created directly just before.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
import time
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import uvloop
from e2e.bench.hostile.attacks import define, huge, many_without_room, rejections
from e2e.bench.hostile.scenes import Cost, Scene, scene
from e2e.bench.one_job import ENDPOINT_SLICES
from e2e.harness.bare import bare
from e2e.harness.client import Api, Object, connect, eventually
from e2e.harness.cluster import Cluster
from e2e.harness.errors import told
from e2e.harness.floor import fast_client, made_in
from e2e.harness.jobs import Namespace, job

from training_api.constants import MAX_REPLICAS, MOST_REPLICAS, REPLICA_INDEX_LABEL
from training_operator.kube.resources import PODS, SERVICES

STORED = (2**31 - 1, 1_000_000, 400_000)
"""Workers of jobs from before the maximum."""
PLACED_WITHIN = 1800.0
NO_ROOM = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/5 nodes are available"}
AT_ONCE = 4
"""Pods of which a scheduler says so at a time."""
PAUSE = 0.05
"""Seconds between two jobs of the others."""


@dataclass(frozen=True, slots=True)
class Stages:
    """Where scenes are played: each with an operator of its own."""

    cluster: Cluster
    api: Api
    folder: Path
    others: int

    def open(self, *flags: str) -> AbstractAsyncContextManager[tuple[Scene, bool]]:
        """A scene, and whether the memory limit is enforced."""
        return scene(self.cluster, self.api, self.folder, self.others, PAUSE, *flags)


def say(what: str, cost: Cost) -> None:
    """Print one line."""
    print(f"{what:<68}{cost}", flush=True)


async def stored(stages: Stages, seconds: float) -> None:
    """Jobs from before the maximum, and an operator that finds them when it starts."""
    await define(stages.api, Namespace(stages.api, "default"), None)
    async with stages.open() as (stage, limited):
        print("the memory limit is " + ("enforced by a control group" if limited else "NOT enforced on this machine"))
        hostile = await stage.namespace()
        say("no attack", await stage.under(_nothing, hostile, seconds))
        for workers in STORED:
            cost = await stage.under(partial(huge, workers=workers), hostile, seconds)
            say(f"one job of {workers:,} workers, stored without maximum", cost)
        pods = await _count(stages.api, PODS.path(hostile.name))
        print(f"    events about them: {len(await rejections(stages.api, hostile))}, pods: {pods}")
    async with stages.open() as (stage, _):
        say("the operator starts again with all of them", await stage.under(_nothing, hostile, seconds))


async def full(stages: Stages, seconds: float) -> None:
    """Large jobs that wait for room."""
    await define(stages.api, Namespace(stages.api, "default"), MOST_REPLICAS)
    flag = f"--max-replicas={MOST_REPLICAS}"
    async with stages.open(flag) as (stage, _):
        hostile = await stage.namespace()
        say("no attack", await stage.under(_nothing, hostile, seconds))
        attack = partial(many_without_room, jobs=20, workers=100_000)
        say(f"20 jobs of 100,000, {flag}, no room for a pod", await stage.under(attack, hostile, seconds))
        services = await _count(stages.api, SERVICES.path(hostile.name))
        print(f"    services: {services:,}, pods: {await _count(stages.api, PODS.path(hostile.name))}")


async def place(stages: Stages, _seconds: float) -> None:
    """As many replicas as there may be, against a tenth of the same objects created directly."""
    async with stages.open() as (stage, _):
        direct = 10 * await _floor(stages.cluster, stage, MAX_REPLICAS // 10)

        async def placed(api: Api, namespace: Namespace) -> None:
            await namespace.create(job("large", Worker=MAX_REPLICAS))
            for resource in (PODS, SERVICES):
                await _counted(api, resource.path(namespace.name), MAX_REPLICAS)

        async def without_room(api: Api, namespace: Namespace) -> None:
            indexes = iter(range(MAX_REPLICAS))

            async def tell() -> None:
                for index in indexes:
                    path = f"{PODS.path(namespace.name, f'large-worker-{index}')}/status"
                    await api.patch(path, {"status": {"conditions": [NO_ROOM]}})

            await asyncio.gather(*(tell() for _ in range(AT_ONCE)))

        namespace, begun = await stage.namespace(), time.perf_counter()
        cost = await stage.under(placed, namespace)
        seconds = time.perf_counter() - begun
        say(f"one job of {MAX_REPLICAS:,} workers, placed in {seconds:.1f} s", cost)
        print(
            f"    the same objects created directly: {direct:.1f} s; placed / floor {seconds / direct:.2f}", flush=True
        )
        say("its pods find no room, one after the other", await stage.under(without_room, namespace))


MEASUREMENTS = {each.__name__: each for each in (stored, full, place)}


async def _nothing(_api: Api, _namespace: Namespace) -> None:
    """No attack."""


async def _floor(cluster: Cluster, stage: Scene, replicas: int) -> float:
    """Seconds to create the services and pods of so many replicas directly."""
    model, floor = await stage.namespace(), await stage.namespace()
    await model.create(job("large", Worker=1))
    await model.pods_reach("large", 1)
    objects = await made_in(stage.api, model.name)
    for _, body in objects:
        body["metadata"].pop("ownerReferences")
    everything = [(resource, _of_replica(body, index)) for resource, body in objects for index in range(replicas)]
    async with fast_client(cluster) as client:
        begun = time.perf_counter()
        await asyncio.gather(*(client.create(resource, floor.name, body) for resource, body in everything))
        seconds = time.perf_counter() - begun
    await _counted(stage.api, ENDPOINT_SLICES.format(floor.name), replicas)
    return seconds


def _of_replica(body: Object, index: int) -> Object:
    """The object of replica 0, as that of another one."""
    label = {REPLICA_INDEX_LABEL: "0"}, {REPLICA_INDEX_LABEL: str(index)}
    old, new = (json.dumps(each).strip("{}") for each in label)
    text = json.dumps(body).replace("large-worker-0", f"large-worker-{index}").replace(old, new)
    made: Object = json.loads(text)
    return made


async def _counted(api: Api, path: str, number: int) -> None:
    """Wait until a collection has so many objects."""

    async def reached() -> bool:
        return await _count(api, path) >= number

    await eventually(reached, f"{number} objects at {path}", PLACED_WITHIN, 0.2)


async def _count(api: Api, path: str) -> int:
    page = await api.call("GET", f"{path}?limit=1")
    return len(page["items"]) + int(page["metadata"].get("remainingItemCount", 0))


async def _run(cluster: Cluster, what: Sequence[str], seconds: float, others: int) -> None:
    with tempfile.TemporaryDirectory(prefix="training-hostile-") as folder:
        async with connect(cluster.kubeconfig) as api:
            for name in what:
                await MEASUREMENTS[name](Stages(cluster, api, Path(folder), others), seconds)


def main() -> None:
    """Play and print."""
    parser = argparse.ArgumentParser(prog="python -m e2e.bench.hostile", description=__doc__)
    parser.add_argument("--seconds", type=float, default=20, help="to look on after each attack (default: 20)")
    parser.add_argument("--others", type=int, default=100, help="jobs of other tenants (default: 100)")
    parser.add_argument("what", nargs="*", choices=[*MEASUREMENTS, []], help="default: all of them")
    given = parser.parse_args()
    with told("hostile"), bare() as cluster:
        uvloop.run(_run(cluster, given.what or [*MEASUREMENTS], given.seconds, given.others))


if __name__ == "__main__":
    main()
