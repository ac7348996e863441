"""Deadlines of hundreds of idle jobs are met, also by an operator that has just been started (K-02)."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest
from e2e.support.profiles import WEEKLY
from e2e.support.simulation.api import Json
from e2e.support.simulation.cluster import BEGINNING, Cluster, cluster
from e2e.support.simulation.jobs import jax

from training_local.apiserver.storage import Change, StoreKey

pytestmark = pytest.mark.virtual_time

JOBS = 1000 if WEEKLY else 250
DUE = 40
"""Jobs of which something falls due within the test, half of them by their deadline and half by their time to live."""
FIRST = 600
"""When the first of them do, four in a second; the others have their timers, too."""
LATE = 1.0


def _wire(second: float) -> str:
    return (BEGINNING + timedelta(seconds=second)).strftime("%Y-%m-%dT%H:%M:%SZ")


async def _jobs(world: Cluster) -> dict[str, float]:
    """Store jobs that have been running or finished since the beginning; returns what falls due when."""
    due = {}
    for number in range(JOBS):
        name, runs = f"job-{number}", number < DUE and number % 2 == 1
        after = FIRST + number // 4 if number < DUE else 1_000_000
        policy: Json = {"activeDeadlineSeconds" if runs else "ttlSecondsAfterFinished": after}
        status: Json = {"startTime": _wire(0), "conditions": [{"type": "Created", "status": "True"}]}
        if not runs:
            status["conditions"].append({"type": "Succeeded", "status": "True"})
            status["completionTime"] = _wire(0)
        await world.api.create(jax(name, workers=1, **policy))
        await world.api.patch("JAXJob", name, {"status": status}, "status")
        if number < DUE:
            due[name] = float(after)
    return due


@pytest.mark.shows("K-02")
async def test_at_most_a_second_late_among_hundreds_of_jobs() -> None:
    async with cluster(checks=False) as world:  # all specs are good, and checking is half of the work
        due, ended = await _jobs(world), dict[str, float]()

        def note(key: StoreKey, change: Change) -> None:
            job = change.new_object
            failed = any(c["type"] == "Failed" for c in job.get("status", {}).get("conditions", ()))
            if key[1] == "jaxjobs" and (change.type == "DELETED" or failed):
                ended.setdefault(job["metadata"]["name"], asyncio.get_running_loop().time())

        world.server.state.storage.observers.append(note)
        await asyncio.sleep(10)
        first = world.operator()
        await asyncio.sleep(FIRST - 5)
        await first.kill()
        world.operator()
        await asyncio.sleep(DUE)
        assert set(ended) == set(due)
        late = [ended[name] - moment for name, moment in due.items()]
        assert 0 <= min(late) <= max(late) <= LATE
