"""Horovod: its own launcher reads the operator's hostfile, and enters the workers as mpirun does."""

from __future__ import annotations

import pytest
from e2e.harness.client import eventually
from e2e.training.conftest import Start
from e2e.training.examples import Example
from e2e.training.runs import Run

RANKS = 2


@pytest.mark.weekly
@pytest.mark.framework(name="horovod")
@pytest.mark.recorded(
    library="Horovod, by horovodrun over gloo", kind="MPIJob", shown=f"{RANKS} ranks learn one model",
    packages=("horovod", "torch"),
)  # fmt: skip
async def test_the_ranks_of_horovodrun_learn_one_model(start: Start) -> None:
    outcome = await (await start(Example("libraries/horovod/mpijob.yaml"))).end()
    outcome.check_trained(RANKS)
    assert [report["host"] for report in outcome.reports] == ["horovod-worker-0", "horovod-worker-1"]


async def seen(run: Run, line: str) -> None:
    """Wait until the launcher has printed this."""

    async def printed() -> bool:
        return line in await run.log("horovod-elastic-launcher")

    try:
        await eventually(printed, line, 120)
    except AssertionError as error:
        raise AssertionError(f"{error}\n{(await run.log('horovod-elastic-launcher'))[-4000:]}") from None


async def scale(run: Run, workers: int) -> None:
    """Change the number of workers, as `kubectl patch` does."""
    await run.api.patch(
        f"{run.path}/{run.example.name}", {"spec": {"mpiReplicaSpecs": {"Worker": {"replicas": workers}}}}
    )


@pytest.mark.weekly
@pytest.mark.framework(name="horovod")
@pytest.mark.recorded(
    library="elastic Horovod, by discover_hosts.sh", kind="MPIJob",
    shown="a third worker is added, one is deleted and comes back, one is taken away: the training goes on",
    packages=("horovod", "torch"),
)  # fmt: skip
async def test_workers_come_and_go(start: Start) -> None:
    run = await start(Example("libraries/horovod/elastic.yaml"))
    await seen(run, "rank 1 of 2")
    await seen(run, "step 20/")
    await scale(run, 3)
    await seen(run, "rank 2 of 3 on horovod-elastic-worker-2")
    await run.api.delete(f"{run.core}/pods/horovod-elastic-worker-1")
    await seen(run, "rank 1 of 2 on horovod-elastic-worker-2")
    await seen(run, "rank 2 of 3 on horovod-elastic-worker-1")
    await scale(run, 2)
    outcome = await run.end()
    outcome.check_trained(2)
    log = outcome.logs["horovod-elastic-launcher"]
    begun = [int(line.rpartition(" ")[2]) for line in log.splitlines() if "goes on after step" in line]
    assert begun == sorted(begun), f"steps were lost: {outcome.text}"
    assert {(report["steps"], report["losses"]) for report in outcome.reports} == {(600, 600)}
