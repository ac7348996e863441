"""Jobs of other tenants, which go on whatever the attacker asks for."""

from __future__ import annotations

import asyncio
import statistics
import time
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count

from e2e.bench.many.stage import JOBS, Stage, pod_status
from e2e.harness.jobs import job
from e2e.support.meanwhile import meanwhile

from training_operator.kube.client import KubeClient
from training_operator.kube.resources import PODS, SERVICES

POD = {"spec": {"containers": [{"name": "pytorch", "image": "example.com/train:1"}]}}
SERVICE = {"spec": {"clusterIP": "None", "ports": [{"port": 23456}]}}


class Others:
    """So many jobs that run; one after the other ends and makes room for a new one."""

    def __init__(self, client: KubeClient, stage: Stage) -> None:
        self._client, self._stage = client, stage
        self._numbers, self._running = count(), deque[str]()
        self.lags: list[float] = []
        """Seconds from a pod's end until its job says so, and from a job's creation until its pod is there."""
        self.floors: list[float] = []
        """Seconds to create a service and a pod directly, at the same time."""

    async def begin(self, jobs: int) -> None:
        """Start the jobs."""
        await asyncio.gather(*(self._start() for _ in range(jobs)))

    @asynccontextmanager
    async def going_on(self, pause: float) -> AsyncIterator[None]:
        """Exchange one job after the other, and begin anew to measure."""
        self.lags.clear()
        self.floors.clear()
        async with meanwhile(self._exchange(pause)):
            yield

    @property
    def summary(self) -> tuple[float, float, float]:
        """The median of the lags, the longest, and the median of the floors, in milliseconds."""
        return statistics.median(self.lags) * 1000, max(self.lags) * 1000, statistics.median(self.floors) * 1000

    async def _exchange(self, pause: float) -> None:
        while True:
            await self._end(self._running.popleft())
            await self._start()
            await self._directly()
            await asyncio.sleep(pause)

    async def _start(self) -> None:
        name = f"other-{next(self._numbers):05}"
        await self._client.create(JOBS, self._stage.namespace, job(name, Master=1))
        begun = time.perf_counter()
        await self._stage.until(lambda: name in self._stage.first_pod, f"a pod of {name}")
        self.lags.append(time.perf_counter() - begun)
        await self._move(name, "Running")
        self._running.append(name)

    async def _directly(self) -> None:
        """What the operator does for a job of one replica, by this program."""
        name = f"direct-{next(self._numbers):05}"
        begun = time.perf_counter()
        await self._client.create(SERVICES, self._stage.namespace, {"metadata": {"name": name}, **SERVICE})
        await self._client.create(PODS, self._stage.namespace, {"metadata": {"name": name}, **POD})
        await self._stage.until(lambda: name in self._stage.pods, f"pod {name}")
        self.floors.append(time.perf_counter() - begun)
        await self._client.delete(SERVICES, self._stage.namespace, name)
        await self._client.delete(PODS, self._stage.namespace, name, grace=0)

    async def _end(self, name: str) -> None:
        await self._move(name, "Succeeded")
        begun = time.perf_counter()
        await self._stage.until(lambda: "Succeeded" in self._stage.jobs.get(name, ()), f"the end of {name}")
        self.lags.append(time.perf_counter() - begun)
        await self._client.delete(JOBS, self._stage.namespace, name)

    async def _move(self, name: str, phase: str) -> None:
        patch = {"status": pod_status(phase)}
        await self._client.patch(PODS, self._stage.namespace, f"{name}-master-0", patch, subresource="status")
