"""Whether the lease waits behind what jobs need: many jobs at once, and the times of its renewals."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from itertools import pairwise

from e2e.endurance.failover.audit import noted_so_far, writes
from e2e.endurance.failover.replicas import Replicas
from e2e.endurance.faults.load import draw
from e2e.endurance.faults.stage import Stage
from e2e.harness.client import eventually

from training_api.registry import KINDS

JOBS = 300
AT_MOST = 5.0
"""Seconds from one renewal to the next: half of what costs the leadership; without anything else it is 2 s."""
PATIENCE = 240.0


@dataclass(frozen=True)
class Renewals:
    """What the server noted while the operator had all it could do."""

    seconds: float
    """From the first job to the last pod."""
    writes: int
    """Of jobs, pods, services, events in that time."""
    renewals: int
    gap: float
    """Longest time from one renewal to the next, in seconds."""
    answer: float
    """Longest time that the server took for one, in seconds."""


async def saturated(stage: Stage, makes: Replicas, count: int = JOBS) -> Renewals:
    """Create many jobs at once, and follow the lease until each job has its pods."""
    replica = await makes.start()
    await asyncio.to_thread(replica.operator.wait_ready)
    kinds = list(KINDS)
    jobs = [draw(stage.rng, f"crowd{number}", kinds[number % len(kinds)]) for number in range(count)]
    wanted = stage.watcher.created + sum(len(job.slots) for job in jobs)
    stage.lasting.update(job.name for job in jobs)
    since = noted_so_far(stage.folder)
    async with asyncio.TaskGroup() as tasks:
        for job in jobs:
            tasks.create_task(stage.patient_create(stage.path(job.kind), job.body))

    async def all_there() -> bool:
        return stage.watcher.created >= wanted

    await eventually(all_there, f"{wanted} pods", PATIENCE)
    noted = [each for each in writes(stage.folder, since) if each.replica == replica.name]
    lease = [each for each in noted if each.takes]
    if len(lease) < 2:
        stage.complaints.append(f"{len(lease)} renewals only: nothing was tried")
    return Renewals(
        (noted[-1].received - noted[0].received).total_seconds(),
        len(noted) - len(lease),
        len(lease),
        max(((after.received - before.received).total_seconds() for before, after in pairwise(lease)), default=0.0),
        max(((each.answered - each.received).total_seconds() for each in lease), default=0.0),
    )
