"""What befalls the workers of elastic Horovod, on the local cluster and on a real node."""

from __future__ import annotations

from e2e.harness.client import eventually
from e2e.training.runs import Run

NAME = "horovod-elastic"
LAUNCHER = f"{NAME}-launcher"
LIMIT = 300.0
"""Seconds for each of it: a busy machine takes long to import torch in all pods, and a kubelet to show new hosts."""


async def workers_come_and_go(run: Run, steps: int) -> None:
    """A worker is added, another one is deleted and comes back, one is taken away; no committed step is lost."""
    await seen(run, "rank 1 of 2")
    await seen(run, f"step 20/{steps}")
    await scale(run, 3)
    await seen(run, f"rank 2 of 3 on {NAME}-worker-2")
    await run.api.delete(f"{run.core}/pods/{NAME}-worker-1")
    await seen(run, f"rank 1 of 2 on {NAME}-worker-2")
    await seen(run, f"rank 2 of 3 on {NAME}-worker-1")
    await scale(run, 2)
    outcome = await run.end(2 * LIMIT)
    outcome.check_trained(2)
    lines = [line for line in outcome.logs[LAUNCHER].splitlines() if "goes on after step" in line]
    begun = [int(line.rpartition(" ")[2]) for line in lines]
    assert begun == sorted(begun), f"steps were lost: {outcome.text}"
    assert {(report["steps"], report["losses"]) for report in outcome.reports} == {(steps, steps)}


async def seen(run: Run, line: str) -> None:
    """Wait until the launcher has printed this."""

    async def printed() -> bool:
        return line in await run.log(LAUNCHER)

    try:
        await eventually(printed, line, LIMIT)
    except AssertionError as error:
        raise AssertionError(f"{error}\n{(await run.log(LAUNCHER))[-4000:]}") from None


async def scale(run: Run, workers: int) -> None:
    """Change the number of workers, as `kubectl patch` does."""
    change = {"spec": {"mpiReplicaSpecs": {"Worker": {"replicas": workers}}}}
    await run.api.patch(f"{run.path}/{run.example.name}", change)
