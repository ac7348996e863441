"""A long life in virtual time: jobs of all kinds come, run, fail, and go; afterwards nothing of them may be left."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import random
import tracemalloc
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime

from e2e.support.simulation.api import Api, Json, Rejected
from e2e.support.simulation.cluster import Cluster, cluster, now, until
from e2e.support.simulation.growth import sizes, unlimited_caches
from e2e.support.simulation.jobs import replica
from e2e.support.simulation.kubelet import Kubelet
from e2e.support.simulation.process import Process

from training_api.registry import KINDS
from training_controllers.reconcile.loader import STATUSES
from training_operator.events import REMEMBERED, SIMILAR

TYPES: Mapping[str, tuple[str, ...]] = {
    "PyTorchJob": ("Master", "Worker"),
    "TFJob": ("Chief", "Worker"),
    "XGBoostJob": ("Master", "Worker"),
    "MPIJob": ("Launcher", "Worker"),
    "PaddleJob": ("Worker",),
    "JAXJob": ("Worker",),
}
LONGEST_RUN = 20.0
SETTLING = 900.0
"""Seconds after the last job for what is remembered for a while; longer than anything is."""
TIDY_SECONDS = 60.0
"""The server of the simulation keeps events, and the network requests, indefinitely."""

BOUNDED: Mapping[str, int] = {
    "_correlator._known": REMEMBERED,
    "_correlator._sent": REMEMBERED,
    "_correlator._similar": REMEMBERED,
    "_correlator._similar[].messages": REMEMBERED * (SIMILAR + 1),
    "_metrics": 100,
    ".cache": 100,
    "._loader._recent_status.cache": STATUSES * len(KINDS),
}
"""What does not become empty but never exceeds a number, by the end of its way: memories with a limit, and labels."""
FILLING = 1 / 3
"""The part of the jobs that come before the base line is taken: of 20,000, enough to fill every memory with a limit."""
ALLOCATED_MORE = 1_000_000
"""Bytes that may be allocated beyond the base line; of 20,000 jobs, that is 75 for each after it."""


@dataclass(frozen=True, slots=True)
class State:
    """What a process holds: the size of each container, and the bytes allocated by its modules (0: not traced)."""

    sizes: Mapping[str, int]
    allocated: int


class BusyKubelet(Kubelet):
    """Pods run for some seconds; most end well, some fail, some are killed."""

    def __init__(self, api: Api, now: Callable[[], datetime], rng: random.Random) -> None:
        super().__init__(api, now)
        self._rng = rng

    async def _live(self, pod: Json) -> None:
        run, code = self._rng.uniform(1, LONGEST_RUN), self._rng.choices((0, 1, 137), (90, 5, 5))[0]
        with contextlib.suppress(Rejected):
            await self._bind(pod)
            await self.set_status(pod, "Running", {"running": {"startedAt": self._time()}})
            await asyncio.sleep(run)
            ended = {"exitCode": code, "startedAt": self._time(), "finishedAt": self._time()}
            await self.set_status(pod, "Failed" if code else "Succeeded", {"terminated": ended})


def job(kind: str, name: str, rng: random.Random) -> Json:
    """A job of one or two pods, with a policy and a time to live as chance has it."""
    info = KINDS[kind]
    policy = rng.choice(("Never", "OnFailure", "ExitCode"))
    run = {"cleanPodPolicy": rng.choice(("None", "Running", "All")), "backoffLimit": 3}
    if rng.random() < 0.5:
        run |= {"ttlSecondsAfterFinished": rng.randrange(60)}
    specs = {replica_type: replica(info.container, 1, policy) for replica_type in TYPES[kind]}
    spec = {"runPolicy": run, info.replica_field: specs}
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": kind,
        "metadata": {"name": name, "namespace": "default"},
        "spec": spec,
    }


def growth(before: State, after: State) -> list[str]:
    """Everything that should be as it was before, and is not."""
    grown = [
        f"{way}: {before.sizes.get(way, 0)} -> {size}"
        for way, size in sorted(after.sizes.items())
        if size > max([before.sizes.get(way, 0), *(most for end, most in BOUNDED.items() if way.endswith(end))])
    ]
    if filled(before) and after.allocated > before.allocated + ALLOCATED_MORE:
        grown.append(f"bytes allocated: {before.allocated} -> {after.allocated}")
    return grown


def filled(state: State) -> bool:
    """Whether the memories with a limit are full, so that all bytes that come later are too many."""
    return any(way.endswith("_correlator._sent") and size == REMEMBERED for way, size in state.sizes.items())


async def soak(jobs: int, seconds: float, seed: int = 0) -> tuple[State, State]:
    """Let `jobs` live within `seconds`; what the operator holds after a first part of them, and after all."""
    rng = random.Random(seed)
    async with cluster(seed, checks=False, kubelet=lambda api: BusyKubelet(api, now, rng)) as world:
        process = world.operator()
        tidying = asyncio.create_task(_tidy(world, process))
        states = []
        middle = int(jobs * FILLING)
        for first, end in ((0, middle), (middle, jobs)):
            async with asyncio.TaskGroup() as lives:
                for number in range(first, end):
                    lives.create_task(_live(world.api, number, rng))
                    await asyncio.sleep(seconds / jobs)
            await until(lambda: _nothing_left(world), within=SETTLING, step=10)
            await asyncio.sleep(SETTLING)
            states.append(_state(process))
        tidying.cancel()
        assert process.alive
        assert not process.complaints, process.complaints
        await process.stop()
    return states[0], states[1]


async def _live(api: Api, number: int, rng: random.Random) -> None:
    """One job: it expires, or is deleted by its user, finished or in the middle of its life."""
    kind = list(TYPES)[number % len(TYPES)]
    name, patience = f"job-{number}", rng.choice((5.0, 60.0, 120.0))
    await api.create(job(kind, name, rng))
    await asyncio.sleep(patience)
    with contextlib.suppress(Rejected):
        await api.delete(kind, name, propagationPolicy="Background")


async def _nothing_left(world: Cluster) -> bool:
    kinds = (*TYPES, "Pod", "Service", "Role")
    return not any([await world.api.list(kind) for kind in kinds])


async def _tidy(world: Cluster, process: Process) -> None:
    while True:
        await asyncio.sleep(TIDY_SECONDS)
        process.transport.sent.clear()
        await world.api.send("DELETE", world.api.path("Event"))


def _state(process: Process) -> State:
    gc.collect()
    allocated = 0
    if tracemalloc.is_tracing():
        ours = [tracemalloc.Filter(True, f"*/{package}/*") for package in ("training_operator", "training_controllers")]
        snapshot = tracemalloc.take_snapshot().filter_traces(ours)
        allocated = sum(each.size for each in snapshot.statistics("filename"))
    return State({**sizes(process.app, "app"), **unlimited_caches()}, allocated)
