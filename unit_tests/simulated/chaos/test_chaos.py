"""Small worlds in which everything goes wrong for a while, and in the end everything is right.

To see one of them again: `make test ARGS="unit_tests/simulated/chaos/test_chaos.py -k seed-17-"`.
"""

from __future__ import annotations

import pytest
from unit_tests.simulated.chaos.play import Played, disturbed, undisturbed_once
from unit_tests.simulated.chaos.scenario import draw
from unit_tests.simulated.chaos.seeds import seeds

pytestmark = pytest.mark.virtual_time

DISTURBANCES = 4
"""So many seeds in a row have the same jobs and users, and disturb them in different ways."""


truth_of = undisturbed_once(draw)


@pytest.mark.parametrize("seed", seeds(100, weekly=2000))
async def test_every_job_of_a_seed_ends_as_it_should(seed: int, truth: Played) -> None:
    assert truth.complaints == []
    seen = await disturbed(draw(seed // DISTURBANCES), truth, seed)
    assert not seen.complaints, "\n".join(seen.complaints)
