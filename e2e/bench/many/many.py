"""Many jobs at once: until all pods are there, and how soon their statuses follow their pods."""

from __future__ import annotations

import asyncio
import copy
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from e2e.bench.many.clean import empty, new_namespace
from e2e.bench.many.follower import FOLLOWING
from e2e.bench.many.stage import JOBS, Stage, timed
from e2e.harness.client import Api, Object, eventually
from e2e.harness.cluster import Cluster
from e2e.harness.floor import AT_ONCE, Objects, fast_client, made_in
from e2e.harness.jobs import job
from e2e.harness.operator import running_operator
from e2e.harness.processes import Child
from e2e.harness.startup import START_LIMIT
from e2e.harness.usage import cpu_at_rest, memory_mb

from training_operator.kube.client import KubeClient
from training_operator.kube.resources import PODS, SERVICES, Resource


@dataclass(frozen=True, slots=True)
class Round:
    """The figures of one floor and one run of all jobs."""

    floor_s: float
    placed_s: float
    running_lag_s: float
    succeeded_lag_s: float
    cpu_ms_per_pod: float
    peak_memory_mb: float
    running_floor_s: float = 0.0
    """The lags of a process that does nothing but follow the pods (`follower`), measured under pressure only."""
    succeeded_floor_s: float = 0.0

    @property
    def ratio(self) -> float:
        """How much longer the jobs take than the floor."""
        return self.placed_s / self.floor_s


class ManyJobs:
    """Measures so many jobs of so many pods; the floor is taken before each run."""

    def __init__(
        self, cluster: Cluster, api: Api, folder: Path, jobs: int, pods: int, *, at_once: int = AT_ONCE
    ) -> None:
        """Pods are moved by so many requests `at_once`, without a pause."""
        self._cluster, self._api, self._folder, self._jobs, self._pods = cluster, api, folder, jobs, pods
        self._serial, self._at_once = 0, at_once

    async def warm_up(self) -> Objects:
        """Place one job; return the services and pods that the operator made for it."""
        namespace = await self._namespace()
        with running_operator(self._cluster.kubeconfig, self._folder / f"operator-{namespace}.log"):
            async with fast_client(self._cluster) as client:
                stage = Stage(client, namespace)
                async with stage.watched():
                    await self._place(stage, 1)
        made = await made_in(self._api, namespace)
        # When the job has ended its services are gone, and a floor without them is too low.
        assert [resource for resource, _ in made] == [SERVICES] * self._pods + [PODS] * self._pods
        await empty(self._api, namespace)
        return made

    async def round(self, objects: Objects) -> Round:
        """Measure the floor, then the jobs."""
        namespace = await self._namespace()
        floor = await self._floor(namespace, objects)
        least = await self._followed(namespace) if self._at_once > AT_ONCE else (0.0, 0.0)
        await empty(self._api, namespace)
        namespace = await self._namespace()
        placed, lags, cpu, memory = await self._run(namespace, self._jobs)
        await empty(self._api, namespace)
        return Round(floor, placed, *lags, cpu * 1000 / (self._jobs * self._pods), memory, *least)

    async def twice(self) -> float:
        """Peak memory of one operator, in MB, that runs all jobs, and then as many again beside the finished ones."""
        with running_operator(self._cluster.kubeconfig, self._folder / "operator-twice.log") as operator:
            namespaces = [await self._namespace() for _ in range(2)]
            for namespace in namespaces:
                await self._live(namespace, self._jobs)
            peak = memory_mb(operator.child.pid, "VmHWM")
        for namespace in namespaces:
            await empty(self._api, namespace)
        return peak

    async def _namespace(self) -> str:
        self._serial += 1
        return await new_namespace(self._api, f"many-{self._jobs}-{self._serial}")

    def _bodies(self, count: int) -> list[Object]:
        return [job(_name(number), Master=1, Worker=self._pods - 1) for number in range(count)]

    async def _floor(self, namespace: str, objects: Objects) -> float:
        """Seconds to create the same jobs, services and pods directly, in the same order."""
        async with fast_client(self._cluster) as client:
            stage = Stage(client, namespace)
            everything = [each for number in range(self._jobs) for each in _renamed(objects, number)]
            async with stage.watched():
                begun = time.perf_counter()
                created = await asyncio.gather(
                    *(client.create(JOBS, namespace, body) for body in self._bodies(self._jobs))
                )
                uids = {record.name: record.uid for record in created}
                await asyncio.gather(*(_create(client, namespace, *each, uids) for each in everything))
                await stage.until(lambda: len(stage.pods) == self._jobs * self._pods, "all pods of the floor")
                return time.perf_counter() - begun

    async def _followed(self, namespace: str) -> tuple[float, float]:
        """The lags of Running and Succeeded where a process does nothing but follow the pods that are there."""
        follower = [sys.executable, "-m", "e2e.bench.many.follower", str(self._cluster.kubeconfig), namespace]
        child = Child([*follower, str(self._pods)], self._folder / f"follower-{namespace}.log")

        async def follows() -> bool:
            child.check_alive()
            return FOLLOWING in child.output()

        try:
            await eventually(follows, "a process that follows the pods", START_LIMIT)
            async with fast_client(self._cluster, self._at_once) as client:
                stage = Stage(client, namespace)
                async with stage.watched():
                    await stage.until(lambda: len(stage.pods) == self._jobs * self._pods, "all pods of the floor")
                    return await stage.run("Running"), await stage.run("Succeeded")
        finally:
            child.kill()

    async def _run(self, namespace: str, jobs: int) -> tuple[float, tuple[float, float], float, float]:
        """Seconds until all pods exist, the lags of Running and Succeeded, CPU seconds and peak MB of the operator."""
        log = self._folder / f"operator-{namespace}.log"
        with running_operator(self._cluster.kubeconfig, log) as operator:
            pid = operator.child.pid
            before = await cpu_at_rest(pid)
            placed, lags = await self._live(namespace, jobs)
            return placed, lags, await cpu_at_rest(pid) - before, memory_mb(pid, "VmHWM")

    async def _live(self, namespace: str, jobs: int) -> tuple[float, tuple[float, float]]:
        """Seconds until all pods exist, and the lags of Running and Succeeded."""
        async with fast_client(self._cluster, self._at_once) as client:
            stage = Stage(client, namespace)
            async with stage.watched():
                placed = await timed(self._place(stage, jobs))
                return placed, (await stage.run("Running"), await stage.run("Succeeded"))

    async def _place(self, stage: Stage, jobs: int) -> None:
        await stage.create_jobs(self._bodies(jobs))
        await stage.until(lambda: len(stage.pods) == jobs * self._pods, "all pods")


def _name(number: int) -> str:
    return f"job-{number:05}"


def _renamed(objects: Objects, number: int) -> Objects:
    """The objects of the first job, as those of another one."""
    return [(resource, _replaced(body, _name(0), _name(number))) for resource, body in copy.deepcopy(objects)]


def _replaced(value: Any, old: str, new: str) -> Any:
    match value:
        case str():
            return value.replace(old, new)
        case list():
            return [_replaced(each, old, new) for each in value]
        case dict():
            return {key: _replaced(each, old, new) for key, each in value.items()}
    return value


async def _create(
    client: KubeClient, namespace: str, resource: Resource[Any], body: Object, uids: dict[str, str]
) -> None:
    owner = body["metadata"]["ownerReferences"][0]
    owner["uid"] = uids[owner["name"]]
    await client.create(resource, namespace, body)
