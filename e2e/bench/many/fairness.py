"""Small jobs while a big one is being placed: how long until their first pod, compared with an operator at rest."""

from __future__ import annotations

import asyncio
import statistics
import time
from dataclasses import dataclass
from pathlib import Path

from e2e.bench.many.clean import empty, new_namespace
from e2e.bench.many.stage import JOBS, Stage
from e2e.harness.client import Api
from e2e.harness.cluster import Cluster
from e2e.harness.floor import fast_client
from e2e.harness.jobs import job
from e2e.harness.operator import running_operator

from training_operator.kube.client import KubeClient

PAUSE = 0.25
"""Seconds between two small jobs."""
ALONE = 8
"""Small jobs that are measured before the big one comes."""


@dataclass(frozen=True, slots=True)
class Fairness:
    """Seconds from the answer to a small job's creation until its first pod is seen, medians."""

    alone_s: float
    beside_s: float
    small_jobs: int
    """How many small jobs came while the big one was being placed."""

    @property
    def delay_ms(self) -> float:
        """What the big job costs the small ones."""
        return (self.beside_s - self.alone_s) * 1000


async def fairness(cluster: Cluster, api: Api, folder: Path, pods: int, number: int) -> Fairness:
    """Measure small jobs alone, then beside one with so many pods."""
    namespace = await new_namespace(api, f"fairness-{number}")
    with running_operator(cluster.kubeconfig, folder / f"operator-{namespace}.log"):
        async with fast_client(cluster) as client:
            stage = Stage(client, namespace)
            async with stage.watched():
                alone = [await _first_pod(stage, client, f"alone-{number}") for number in range(ALONE)]
                await client.create(JOBS, namespace, job("big", Master=1, Worker=pods - 1))
                await stage.until(lambda: _placed(stage) > pods // 20, "the first pods of the big job")
                beside: list[float] = []
                while _placed(stage) < pods * 9 // 10:
                    beside.append(await _first_pod(stage, client, f"beside-{len(beside)}"))
                await stage.until(lambda: _placed(stage) == pods, "all pods of the big job")
    await empty(api, namespace)
    return Fairness(statistics.median(alone), statistics.median(beside), len(beside))


def _placed(stage: Stage) -> int:
    return sum(owner == "big" for owner in stage.owners.values())


async def _first_pod(stage: Stage, client: KubeClient, name: str) -> float:
    await client.create(JOBS, stage.namespace, job(name, Master=1))
    created = time.perf_counter()
    await stage.until(lambda: name in stage.first_pod, f"a pod of {name}")
    await asyncio.sleep(PAUSE)
    return max(stage.first_pod[name] - created, 0.0)
