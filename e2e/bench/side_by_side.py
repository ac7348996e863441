"""`python -m e2e.bench.side_by_side`: jobs of two namespaces before one operator, and before one for each of them.

Both share the machine's cores and one API server, so that what two processes gain shows how much of the time is the
operator's own.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

import uvloop
from e2e.bench.many.clean import empty, new_namespace
from e2e.bench.many.stage import Stage
from e2e.harness.client import Api, connect
from e2e.harness.cluster import Cluster
from e2e.harness.errors import told
from e2e.harness.floor import fast_client
from e2e.harness.jobs import job
from e2e.harness.operator import running_operator
from e2e.harness.providers import provide
from e2e.harness.usage import cpu_at_rest, memory_mb

PODS = 2
"""Of each job."""


@dataclass(frozen=True, slots=True)
class Figures:
    """What the jobs of both namespaces took, and each process."""

    placed_s: float
    lags_s: tuple[float, ...]
    """Of Running and of Succeeded, the longer one of both namespaces."""
    cpu_s: tuple[float, ...]
    peak_mb: tuple[float, ...]


async def measure(cluster: Cluster, api: Api, folder: Path, jobs: int, *, processes: int) -> Figures:
    """Let jobs of two namespaces live, before one process or two."""
    namespaces = [await new_namespace(api, f"side-{processes}-{name}") for name in "ab"]
    scopes: Sequence[Sequence[str]] = [()] if processes == 1 else [(f"--namespace={each}",) for each in namespaces]
    async with AsyncExitStack() as stack:
        running = (
            running_operator(cluster.kubeconfig, folder / f"{processes}-{number}.log", *flags)
            for number, flags in enumerate(scopes)
        )
        pids = [stack.enter_context(each).child.pid for each in running]
        before = [await cpu_at_rest(pid) for pid in pids]
        client = await stack.enter_async_context(fast_client(cluster))
        stages = [Stage(client, each) for each in namespaces]
        for stage in stages:
            await stack.enter_async_context(stage.watched())
        begun = time.perf_counter()
        await asyncio.gather(*(_place(stage, jobs // 2) for stage in stages))
        placed = time.perf_counter() - begun
        lags = [
            max(await asyncio.gather(*(stage.run(phase) for stage in stages))) for phase in ("Running", "Succeeded")
        ]
        after = [await cpu_at_rest(pid) for pid in pids]
        used = tuple(end - start for start, end in zip(before, after, strict=True))
        found = Figures(placed, tuple(lags), used, tuple(memory_mb(pid, "VmHWM") for pid in pids))
    for each in namespaces:
        await empty(api, each)
    return found


async def _place(stage: Stage, jobs: int) -> None:
    await stage.create_jobs([job(f"job-{number:05}", Master=1, Worker=PODS - 1) for number in range(jobs)])
    await stage.until(lambda: len(stage.pods) == jobs * PODS, "all pods")


async def compare(cluster: Cluster, jobs: int) -> list[Figures]:
    """Measure one process, then two."""
    with tempfile.TemporaryDirectory(prefix="training-bench-") as folder:
        async with connect(cluster.kubeconfig) as api:
            return [await measure(cluster, api, Path(folder), jobs, processes=each) for each in (1, 2)]


def main() -> None:
    """Measure and print; the exit status tells only whether the measurement could be made."""
    parser = argparse.ArgumentParser(prog="python -m e2e.bench.side_by_side", description=__doc__)
    parser.add_argument("--jobs", type=int, default=1000, help="half of them in each namespace (default: 1000)")
    given = parser.parse_args()
    with told("bench"), provide("bare") as cluster:
        found = uvloop.run(compare(cluster, given.jobs))
    print(
        "| processes | all pods exist | lag of Running, Succeeded | CPU of each | peak memory of each |",
        "|---" * 5 + "|",
        sep="\n",
    )
    for number, each in enumerate(found, 1):
        lags = ", ".join(f"{lag:.1f} s" for lag in each.lags_s)
        used, memory = (" + ".join(f"{value:.1f}" for value in values) for values in (each.cpu_s, each.peak_mb))
        print(f"| {number} | {each.placed_s:.1f} s | {lags} | {used} s | {memory} MB |")


if __name__ == "__main__":
    main()
