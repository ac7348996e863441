"""`python -m e2e.bench.many [jobs] [memory] [fairness] [finished]`: the operator with a lot to do.

All on a bare control plane. jobs: 1,000 jobs of 2 pods and 100 of 20; the floor is the creation of the same jobs,
services and pods by one client, 32 at a time, before each run. memory: the 1,000 jobs twice, by one process. fairness:
small jobs while one of 1,000 pods is placed. finished: the start of an operator in a cluster with 50,000 finished pods.
Other work of the machine slows floor and operator alike, so look at the ratios.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar

import uvloop
from e2e.bench.many.fairness import fairness
from e2e.bench.many.finished import fill, start
from e2e.bench.many.many import ManyJobs
from e2e.harness.bare import ControlPlane, control_plane
from e2e.harness.client import Api, connect
from e2e.harness.errors import told
from e2e.harness.floor import AT_ONCE

T = TypeVar("T")

SIZES = ((1000, 2), (100, 20))
"""Jobs, and pods of each."""
MEASUREMENTS = ("jobs", "memory", "fairness", "finished")
PRESSURE = 80
"""Requests at once that move pods under pressure, without a pause: more than the operator itself sends."""


def say(rounds: Sequence[T], what: str, value: Callable[[T], float], unit: str, target: float | None = None) -> None:
    """Print the median of a figure, its least and its most."""
    values = [value(each) for each in rounds]
    middle = statistics.median(values)
    goal = "" if target is None else f"<= {target:g}{unit}  {'met' if middle <= target else 'MISSED'}"
    print(f"{what:<58}{middle:9.2f}{unit:<4}{min(values):9.2f}{max(values):9.2f}   {goal}".rstrip(), flush=True)


async def measure_jobs(
    plane: ControlPlane, api: Api, folder: Path, rounds: int, scale: float, *, at_once: int = AT_ONCE
) -> None:
    """Many jobs of few pods, and fewer of more."""
    for full, pods in SIZES:
        jobs = max(int(full * scale), 1)
        many = ManyJobs(plane.cluster, api, folder, jobs, pods, at_once=at_once)
        objects = await many.warm_up()
        found = [await many.round(objects) for _ in range(rounds)]
        size = f"{jobs:,} jobs of {pods} pods"
        say(found, f"{size}: floor", lambda r: r.floor_s, " s")
        say(found, f"{size}: until all pods exist", lambda r: r.placed_s, " s")
        say(found, f"{size}: placed / floor", lambda r: r.ratio, "", 1.6)
        say(found, f"{size}: last pod Running -> last job", lambda r: r.running_lag_s, " s", 1)
        say(found, f"{size}: last pod Succeeded -> last job", lambda r: r.succeeded_lag_s, " s", 1)
        if at_once > AT_ONCE:
            say(found, f"{size}: the same of a process that only follows", lambda r: r.running_floor_s, " s")
            say(found, f"{size}: and for Succeeded", lambda r: r.succeeded_floor_s, " s")
        say(found, f"{size}: CPU of the operator per pod", lambda r: r.cpu_ms_per_pod, " ms")
        say(found, f"{size}: peak memory of the operator", lambda r: r.peak_memory_mb, " MB", 128)


async def measure_memory(plane: ControlPlane, api: Api, folder: Path, rounds: int, scale: float) -> None:
    """The first size again and again, until memory that is not given back would show."""
    jobs = max(int(SIZES[0][0] * scale), 1)
    many = ManyJobs(plane.cluster, api, folder, jobs, SIZES[0][1])
    found = [await many.twice() for _ in range(rounds)]
    say(found, f"{jobs:,} jobs of {SIZES[0][1]} pods, twice: peak memory", lambda peak: peak, " MB", 100)


async def measure_fairness(plane: ControlPlane, api: Api, folder: Path, rounds: int, scale: float) -> None:
    """Small jobs beside a big one."""
    pods = max(int(1000 * scale), 100)
    found = [await fairness(plane.cluster, api, folder, pods, number) for number in range(rounds)]
    say(found, "first pod of a small job, operator at rest", lambda r: r.alone_s * 1000, " ms")
    say(found, f"first pod of a small job, {pods:,} pods being created", lambda r: r.beside_s * 1000, " ms")
    say(found, "    delay", lambda r: r.delay_ms, " ms", 200)
    say(found, "    small jobs measured", lambda r: r.small_jobs, "")


async def measure_finished(plane: ControlPlane, api: Api, folder: Path, rounds: int, scale: float) -> None:
    """The start in a full cluster."""
    pods = max(int(50_000 * scale), 200)
    await fill(plane, api, folder, pods)
    found = [await start(plane.cluster, folder / f"operator-start-{number}.log") for number in range(rounds)]
    say(found, f"{pods:,} finished pods: start of the process -> ready", lambda r: r.synced_s, " s", 20)
    say(found, "    memory when ready", lambda r: r.synced_mb, " MB")
    say(found, "    memory when all jobs have been looked at", lambda r: r.settled_mb, " MB")
    say(found, "    peak memory", lambda r: r.peak_mb, " MB", 200)
    say(found, "    CPU until then", lambda r: r.cpu_s, " s")


async def measure(
    plane: ControlPlane, wanted: Sequence[str], rounds: int, scale: float, *, pressure: bool = False
) -> None:
    """Do what is wanted, one after the other."""
    jobs = partial(measure_jobs, at_once=PRESSURE) if pressure else measure_jobs
    work = {"jobs": jobs, "memory": measure_memory, "fairness": measure_fairness, "finished": measure_finished}
    with tempfile.TemporaryDirectory(prefix="training-bench-") as folder:
        async with connect(plane.cluster.kubeconfig) as api:
            for name in wanted:
                await work[name](plane, api, Path(folder), rounds, scale)


def main() -> None:
    """Measure and print; the exit status tells only whether the measurement could be made."""
    parser = argparse.ArgumentParser(prog="python -m e2e.bench.many", description=__doc__)
    parser.add_argument("what", nargs="*", metavar="|".join(MEASUREMENTS), help="what to measure (default: all)")
    parser.add_argument("--rounds", type=int, default=3, help="of which the median is shown (default: 3)")
    parser.add_argument("--scale", type=float, default=1.0, help="share of the sizes, for a quick look (default: 1)")
    parser.add_argument(
        "--pressure",
        action="store_true",
        help=f"move the pods of jobs by {PRESSURE} requests at once, as fast as it goes",
    )
    given = parser.parse_args()
    if unknown := set(given.what) - set(MEASUREMENTS):
        parser.error(f"cannot measure {', '.join(sorted(unknown))}: choose of {', '.join(MEASUREMENTS)}")
    print(f"load of the machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    print(f"{f'{given.rounds} rounds':<58}{'median':>9}    {'least':>9}{'most':>9}   target", flush=True)
    # Finished pods shall stay.
    with told("bench.many"), control_plane("--terminated-pod-gc-threshold=0") as plane:
        uvloop.run(measure(plane, given.what or MEASUREMENTS, given.rounds, given.scale, pressure=given.pressure))
    print(f"load of the machine: {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
