"""Horovod: its own launcher reads the operator's hostfile, and enters the workers as mpirun does."""

from __future__ import annotations

import pytest
from e2e.training.conftest import Start
from e2e.training.elastic_horovod import workers_come_and_go
from e2e.training.examples import Example

RANKS = 2
STEPS = 600


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


@pytest.mark.weekly
@pytest.mark.framework(name="horovod")
@pytest.mark.recorded(
    library="elastic Horovod, by discover_hosts.sh", kind="MPIJob",
    shown="a third worker is added, one is deleted and comes back, one is taken away: training continues",
    packages=("horovod", "torch"),
)  # fmt: skip
async def test_workers_come_and_go(start: Start) -> None:
    example = Example("libraries/horovod/elastic.yaml")
    example.set(STEPS=str(STEPS))
    await workers_come_and_go(await start(example), STEPS)
