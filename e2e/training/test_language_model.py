"""The small language models learn."""

from __future__ import annotations

import pytest
from e2e.training.conftest import Start
from e2e.training.examples import Example

EACH = [pytest.param(name, marks=pytest.mark.framework(name=name), id=name) for name in ("pytorch", "jax")]
RANKS = 2


@pytest.mark.weekly
@pytest.mark.parametrize("framework", EACH)
async def test_the_loss_falls_over_200_steps(framework: str, start: Start) -> None:
    outcome = await (await start(Example(f"{framework}/language-model.yaml"))).end()
    outcome.check_trained(RANKS, fall=1.5)
    # On two cores that have nothing else to do, half of the sum is what it takes.
    assert sum(report["cpuSeconds"] for report in outcome.reports) < 100, outcome.reports
