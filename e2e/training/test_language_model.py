"""The small language models learn, and a job that is started again goes on from the checkpoint."""

from __future__ import annotations

import pytest
from e2e.harness.client import eventually
from e2e.training.conftest import Start
from e2e.training.examples import Example

EACH = [pytest.param(name, marks=pytest.mark.framework(name=name), id=name) for name in ("pytorch", "jax")]
RANKS = 2


@pytest.mark.parametrize("framework", EACH)
async def test_a_job_that_is_started_again_goes_on(framework: str, start: Start) -> None:
    example = Example(f"{framework}/language-model.yaml")
    example.set(STEPS="30")
    run = await start(example)
    first = await run.end()
    first.check_trained(RANKS, fall=1.3)
    assert [report["begunAfterStep"] for report in first.reports] == [0, 0]

    await run.api.delete(f"{run.path}/{example.name}")

    async def gone() -> bool:
        return not await run.pods()

    await eventually(gone, "end of the first job's pods", 60)
    example.override(STEPS="60")
    await run.api.create(run.path, example.job)
    again = await run.end()
    again.check_trained(RANKS, fall=1.3)
    assert [report["begunAfterStep"] for report in again.reports] == [30, 30]
    for before, after in zip(first.reports, again.reports, strict=True):
        assert after["firstLoss"] == before["firstLoss"], "the losses before the checkpoint are kept"
        assert after["weights"] != before["weights"], "nothing was trained"


@pytest.mark.weekly
@pytest.mark.parametrize("framework", EACH)
async def test_the_loss_falls_over_200_steps(framework: str, start: Start) -> None:
    outcome = await (await start(Example(f"{framework}/language-model.yaml"))).end()
    outcome.check_trained(RANKS, fall=1.5)
    # On two cores that have nothing else to do, half of the sum is what it takes.
    assert sum(report["cpuSeconds"] for report in outcome.reports) < 2 * 60, outcome.reports
