"""Jobs that restart as a whole, where everything goes wrong for a while: no two attempts are ever alive together.

The audit sees to that, at every creation of a pod. To see one of the worlds again:
`make test ARGS="unit_tests/simulated/chaos/test_attempts.py -k seed-17-"`.
"""

from __future__ import annotations

import pytest
from e2e.support.simulation.jobs import extended
from unit_tests.simulated.chaos.play import Played, disturbed, undisturbed_once
from unit_tests.simulated.chaos.scenario import Scenario, draw
from unit_tests.simulated.chaos.seeds import seeds

from training_api.registry import KINDS

pytestmark = pytest.mark.virtual_time

DISTURBANCES = 3
"""So many seeds in a row have the same jobs and users, and disturb them in different ways."""
PERMANENT_BELOW = 128
"""Exit codes after which `ExitCode` does not restart."""


def drawn(seed: int) -> Scenario:
    """The scenario of a seed, except that all its jobs restart as a whole.

    Each replica fails once at most, since all wait for the delays of each. Who fails first is a matter of time, and
    the others do not count then; so only the end of a job is certain, unless one of several failures is permanent.
    """
    scenario = draw(seed)
    scenario.exits = {slot: codes[:1] for slot, codes in scenario.exits.items()}
    for job in scenario.jobs:
        name = extended(job, "restart-scope", "job")["metadata"]["name"]
        scenario.timely.add(name)
        codes = [code for slot, codes in scenario.exits.items() if slot[0] == name for code in codes]
        replicas = job["spec"][KINDS[job["kind"]].replica_field].values()
        by_code = any(each["restartPolicy"] == "ExitCode" for each in replicas)
        if by_code and len(codes) > 1 and min(codes) < PERMANENT_BELOW:
            scenario.open_ended.add(name)
    return scenario


truth_of = undisturbed_once(drawn)


@pytest.mark.parametrize("seed", seeds(8, weekly=200))
async def test_no_two_attempts_are_alive_together(seed: int, truth: Played) -> None:
    assert truth.complaints == []
    seen = await disturbed(drawn(seed // DISTURBANCES), truth, seed)
    assert not seen.complaints, "\n".join(seen.complaints)
