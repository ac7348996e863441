"""Five hundred small worlds in which everything goes wrong for a while, and in the end everything is right.

To see one of them again: `make test ARGS="unit_tests/simulated/chaos/test_chaos.py -k seed-17-"`.
"""

from __future__ import annotations

import os

import pytest
from unit_tests.simulated.chaos.play import Played, disturbed, undisturbed_once
from unit_tests.simulated.chaos.scenario import draw

pytestmark = [pytest.mark.virtual_time, pytest.mark.no_cover]

SEEDS = int(os.environ.get("CHAOS_SEEDS", "500"))
DISTURBANCES = 4
"""So many seeds in a row have the same jobs and users, and disturb them in different ways."""


truth_of = undisturbed_once(draw)


@pytest.mark.parametrize("seed", [pytest.param(seed, id=f"seed-{seed}-") for seed in range(SEEDS)])
async def test_everything_comes_right(seed: int, truth: Played) -> None:
    assert truth.complaints == []
    seen = await disturbed(draw(seed // DISTURBANCES), truth, seed)
    assert not seen.complaints, "\n".join(seen.complaints)
