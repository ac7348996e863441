"""What happens to the operator's own processes."""

from __future__ import annotations

import asyncio
import signal
import sys
from contextlib import suppress

from e2e.endurance.faults.load import draw_all
from e2e.endurance.faults.stage import Stage
from e2e.harness.client import eventually
from e2e.harness.operator import Operator

LOST = '"event": "leadership lost"'
LEADING = '"event": "leading"'


async def operator_killed(stage: Stage) -> None:
    """The operator is killed again and again: after so many writes, or while it starts."""
    jobs = draw_all(stage.rng, stage.size)
    each = -(-len(jobs) // stage.rounds)
    for number in range(stage.rounds):
        await stage.create(jobs[number * each : (number + 1) * each])
        operator = stage.start_operator()
        if stage.rng.random() < 0.2:
            await asyncio.sleep(stage.rng.uniform(0, 1))
        else:
            await written(stage, stage.rng.randint(1, 40))
        operator.child.kill()
        await stage.link.reset()
        stage.link.open()
    async with stage.operator():
        await stage.verify()


async def written(stage: Stage, writes: int) -> None:
    """Return when the operator has written so often and waits for the answer, or has nothing to write."""
    stage.link.was_cut.clear()
    stage.link.cut_after = stage.link.writes + writes
    with suppress(TimeoutError):
        async with asyncio.timeout(8):
            await stage.link.was_cut.wait()
    stage.link.cut_after = None


async def leader_lost(stage: Stage) -> None:
    """Of two replicas the one that leads is killed, stops in good order, or stands still until its lease is over."""
    flags = ("--leader-elect", f"--operator-namespace={stage.namespace}")
    leader, standby = stage.start_operator(*flags), stage.start_operator(*flags)
    jobs = draw_all(stage.rng, stage.size)
    each = -(-len(jobs) // (stage.rounds + 1))
    for number in range(stage.rounds):
        await stage.create(jobs[number * each : (number + 1) * each])
        leader, standby = await _leader_first(leader, standby)
        await stage.progress()
        await (_killed, _stood_still, _stopped)[number % 3](stage, leader, standby)
        leader, standby = standby, stage.start_operator(*flags)
    await stage.create(jobs[stage.rounds * each :])
    await stage.verify()
    await _stop(stage, leader)
    await _stop(stage, standby)


async def _leads(operator: Operator) -> None:
    async def said() -> bool:
        return LEADING in operator.child.output()

    await eventually(said, "the other replica to lead", 60)


async def _leader_first(*operators: Operator) -> tuple[Operator, Operator]:
    async def found() -> tuple[Operator, Operator] | None:
        for one, other in (operators, operators[::-1]):
            if LEADING in one.child.output():
                return one, other
        return None

    return await eventually(found, "a leader", 60)


async def _killed(stage: Stage, leader: Operator, standby: Operator) -> None:
    leader.child.kill()
    await _leads(standby)


async def _stopped(stage: Stage, leader: Operator, standby: Operator) -> None:
    await _stop(stage, leader)
    await _leads(standby)


async def _stop(stage: Stage, operator: Operator) -> None:
    """End a replica in good order, unless a busy machine kept it from renewing its lease: then it has to go itself."""
    status = await asyncio.to_thread(operator.child.stop)
    if status != 0 and LOST not in operator.child.output():
        stage.complaints.append(f"a replica ended with status {status}")


async def _stood_still(stage: Stage, leader: Operator, standby: Operator) -> None:
    """It wakes up while another one leads, and has to go without doing anything."""
    leader.child.process.send_signal(signal.SIGSTOP)
    await _leads(standby)
    await stage.progress()
    leader.child.process.send_signal(signal.SIGCONT)
    if (status := await asyncio.to_thread(leader.child.process.wait, 30)) != 1:
        stage.complaints.append(f"the leader that was overtaken ended with status {status}")


async def clock_jumps(stage: Stage) -> None:
    """The operator's wall clock jumps by up to a month, forwards and backwards."""
    offset = stage.folder / "offset"
    program = (sys.executable, "-m", "e2e.endurance.faults.jumping_clock", offset)
    flags = ("--leader-elect", f"--operator-namespace={stage.namespace}")
    offset.write_text("0")
    jobs = draw_all(stage.rng, stage.size)
    each = -(-len(jobs) // stage.rounds)
    async with stage.operator(*flags, program=program):
        for number in range(stage.rounds):
            await stage.create(jobs[number * each : (number + 1) * each])
            await stage.progress()
            part = offset.with_suffix(".new")
            part.write_text(str(stage.rng.choice((-1, 1)) * stage.rng.choice((5, 600, 86_400, 2_592_000))))
            part.replace(offset)
        await stage.verify()
