"""Jobs come and go, and nothing of them is left in the operator; `python -m e2e.endurance.soak` does it for hours."""

from __future__ import annotations

import pytest
from e2e.support.simulation.soak import growth, soak

pytestmark = pytest.mark.virtual_time


async def test_nothing_is_left_of_jobs_that_are_gone() -> None:
    before, after = await soak(jobs=120, seconds=43.0)
    assert growth(before, after) == []
    for name in ("_gone", "_dirty", "_timers", "_delays", "_memory", "tenants", "_records", "_by_owner"):
        held = [size for way, size in after.sizes.items() if way.endswith(f".{name}")]
        assert held, f"the walk does not find {name}"
        assert sum(held) == 0, name
