"""Gangs in small worlds in which everything goes wrong for a while, their scheduler included: none waits indefinitely.

To see one of them again: `make test ARGS="unit_tests/simulated/chaos/test_gangs.py -k seed-17-"`.
"""

from __future__ import annotations

import pytest
from e2e.support.simulation.process import SETTINGS
from unit_tests.simulated.chaos.play import Played, disturbed, undisturbed_once
from unit_tests.simulated.chaos.scenario import Scenario, draw
from unit_tests.simulated.chaos.seeds import seeds

pytestmark = pytest.mark.virtual_time

DISTURBANCES = 3
"""So many seeds in a row have the same jobs and users, and disturb them in different ways."""
VOLCANO = SETTINGS.model_copy(update={"gang_scheduler_name": "volcano"})


def drawn(seed: int) -> Scenario:
    """The scenario of a seed, except that no job keeps pods that were never placed: they would stay indefinitely."""
    scenario = draw(seed)
    for job in scenario.jobs:
        policy = job["spec"]["runPolicy"]
        policy["cleanPodPolicy"] = "All" if policy["cleanPodPolicy"] == "All" else "Running"
    return scenario


truth_of = undisturbed_once(drawn, VOLCANO)


@pytest.mark.parametrize("seed", seeds(8, weekly=200))
async def test_no_gang_waits_indefinitely_and_none_starts_unasked(seed: int, truth: Played) -> None:
    assert truth.complaints == []
    seen = await disturbed(drawn(seed // DISTURBANCES), truth, seed, VOLCANO)
    assert not seen.complaints, "\n".join(seen.complaints)
