"""Horovod: its own launcher reads the operator's hostfile, and enters the workers as mpirun does."""

from __future__ import annotations

import pytest
from e2e.training.conftest import Start
from e2e.training.examples import Example

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
