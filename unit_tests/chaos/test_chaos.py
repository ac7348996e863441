"""Five hundred small worlds in which everything goes wrong, and in the end everything is right.

To see one of them again: `make test ARGS="unit_tests/chaos/test_chaos.py -k seed-17-"`.
"""

from __future__ import annotations

import os

import pytest
from unit_tests.chaos.play import disturbed, undisturbed
from unit_tests.chaos.scenario import draw

pytestmark = pytest.mark.virtual_time

SEEDS = int(os.environ.get("CHAOS_SEEDS", "500"))


@pytest.mark.parametrize("seed", [pytest.param(seed, id=f"seed-{seed}-") for seed in range(SEEDS)])
async def test_everything_comes_right(seed: int) -> None:
    scenario = draw(seed)
    truth = await undisturbed(scenario)
    assert truth.complaints == []
    seen = await disturbed(scenario, truth)
    assert not seen.complaints, "\n".join(seen.complaints)
