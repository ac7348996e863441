"""Nothing floods: writes of the status, and events, of a job whose pods fail by the hundred (K-39)."""

from __future__ import annotations

import pytest
from e2e.support.simulation.flood import flood

pytestmark = pytest.mark.virtual_time

MOST_EVENTS = 50


@pytest.mark.shows("K-39")
@pytest.mark.parametrize("policy", ["OnFailure", "ExitCode", pytest.param("Never", marks=pytest.mark.weekly)])
async def test_many_failing_pods_flood_neither_events_nor_status(policy: str) -> None:
    """`python -m e2e.endurance.flood` does the same with a thousand pods."""
    seen = await flood(100, policy)
    assert seen.status_writes <= seen.seconds + 5, "one a second, after five at once"
    assert seen.most_writes_in_a_second <= 5
    assert seen.events <= MOST_EVENTS
    if policy != "Never":
        assert seen.job["replicaStatuses"]["Worker"]["restarts"] == 100
