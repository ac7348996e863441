"""How a leader goes, with jobs running and new ones coming all the time."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import UTC, datetime

from e2e.endurance.failover.audit import crossing, first_write, late, noted_so_far, taken, writes
from e2e.endurance.failover.replicas import Replica, Replicas
from e2e.endurance.faults.load import draw
from e2e.endurance.faults.stage import Stage
from e2e.harness.client import eventually
from e2e.support.meanwhile import meanwhile

from training_api.registry import KINDS
from training_operator.leader import LEASE_SECONDS

SLACK = 3.0
"""Seconds beyond the lease for the others' next look, their caches and their first decision."""
GRACEFUL = 1.0
PAUSE = 0.5
"""Seconds between two new jobs."""
PATIENCE = 90.0

Go = Callable[[Stage, Replica], Awaitable[None]]


@dataclass(frozen=True)
class Seen:
    """One change of leaders."""

    play: str
    taken: float
    """Seconds until the lease was another's."""
    written: float
    """Seconds until the other one's first write for a job."""
    limit: float
    late: list[str]
    """Writes of the old leader after that: there must be none."""
    crossing: int
    """Writes of the old leader that the server was at just then."""


@dataclass(frozen=True)
class Play:
    """What happens to a leader, what comes of it when there is another one, and how long the change may take."""

    goes: Go
    returns: Go
    limit: float = LEASE_SECONDS + SLACK
    status: int = 1
    """Exit status of the old leader in the end."""


async def _terminated(stage: Stage, leader: Replica) -> None:
    leader.operator.child.process.send_signal(signal.SIGTERM)


async def _killed(stage: Stage, leader: Replica) -> None:
    leader.operator.child.process.send_signal(signal.SIGKILL)


async def _paused(stage: Stage, leader: Replica) -> None:
    leader.operator.child.process.send_signal(signal.SIGSTOP)


async def _woken(stage: Stage, leader: Replica) -> None:
    await stage.progress()
    leader.operator.child.process.send_signal(signal.SIGCONT)


async def _cut(stage: Stage, leader: Replica) -> None:
    leader.link.hold()


async def _mended(stage: Stage, leader: Replica) -> None:
    """What was on the way is lost; new connections work."""
    await leader.link.reset()
    leader.link.open()


async def _nothing(stage: Stage, leader: Replica) -> None:
    """Be gone."""


PLAYS = {
    "SIGTERM": Play(_terminated, _nothing, GRACEFUL, status=0),
    "SIGKILL": Play(_killed, _nothing, status=-signal.SIGKILL),
    "SIGSTOP, SIGCONT": Play(_paused, _woken),
    "network cut": Play(_cut, _mended),
}
"""All plays by what happens."""


async def change(stage: Stage, name: str, leader: Replica, standby: Replica) -> Seen:
    """Let the leader go, wait until the other one works, and see what the server has noted."""
    play, since, begun = PLAYS[name], noted_so_far(stage.folder), datetime.now(UTC)
    await play.goes(stage, leader)

    async def works() -> bool:
        noted = await asyncio.to_thread(writes, stage.folder, since)
        return first_write(noted, standby.name) is not None

    await eventually(works, f"the first write of {standby.name}", PATIENCE)
    await play.returns(stage, leader)
    await stage.progress()
    if (status := await asyncio.to_thread(leader.operator.child.process.wait, 30)) != play.status:
        stage.complaints.append(f"{name}: {leader.name} ended with status {status}, not {play.status}")
    noted = writes(stage.folder, since)
    first, lease = first_write(noted, standby.name), taken(noted, standby.name)
    assert first is not None
    assert lease is not None
    return Seen(
        name,
        (lease.answered - begun).total_seconds(),
        (first.received - begun).total_seconds(),
        play.limit,
        [each.what for each in late(noted, leader.name, standby.name)],
        len(crossing(noted, leader.name, standby.name)),
    )


def load(stage: Stage, prefix: str = "job") -> AbstractAsyncContextManager[None]:
    """Create one job after the other while the context lasts, the kinds in turn; names begin with `prefix`."""
    return meanwhile(_create(stage, prefix))


async def _create(stage: Stage, prefix: str) -> None:
    kinds, number = list(KINDS), 0
    while True:
        await stage.create([draw(stage.rng, f"{prefix}{number}", kinds[number % len(kinds)])])
        number += 1
        await asyncio.sleep(PAUSE)


async def rounds(stage: Stage, makes: Replicas, names: list[str]) -> list[Seen]:
    """Change leaders so often; at the end all jobs end as scripted, and nothing of them is left."""
    leader, seen = await makes.start(), list[Seen]()
    await asyncio.to_thread(leader.operator.wait_ready)
    async with load(stage):
        await stage.progress()
        for name in names:
            standby = await makes.start()
            await asyncio.to_thread(standby.operator.wait_ready)
            await stage.watcher.let_pass(20)
            seen.append(await change(stage, name, leader, standby))
            leader = standby
    await stage.verify()
    if (status := await asyncio.to_thread(leader.operator.child.stop)) != 0:
        stage.complaints.append(f"the last leader ended with status {status}")
    return seen
