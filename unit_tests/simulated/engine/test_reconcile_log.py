"""One debug line per reconcile: which policy answered, what it does, when it is due again."""

from __future__ import annotations

import asyncio
import logging

import pytest
import structlog
from e2e.support.simulation.cluster import cluster
from e2e.support.simulation.jobs import jax
from structlog.testing import capture_logs

pytestmark = pytest.mark.virtual_time


async def test_every_reconcile_says_which_policy_answered_what_it_does_and_when_it_is_due_again() -> None:
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.DEBUG))
    with capture_logs() as logs:
        async with cluster() as world:
            world.operator()
            await asyncio.sleep(1)
            await world.api.create(jax(workers=2, activeDeadlineSeconds=60))
            await asyncio.sleep(5)
    lines = [line for line in logs if line["event"] == "reconciled"]
    assert {(line["kind"], line["name"], line["log_level"]) for line in lines} == {("JAXJob", "jx", "debug")}
    first, last = lines[0], lines[-1]
    assert (first["policy"], first["creates"], first["deletes"], first["pods"]) == ("run_replicas", 4, 0, 0)
    assert first["requeue_after"] is None  # the next one is for the pods that are there then
    assert (last["policy"], last["creates"], last["pods"]) == ("run_replicas", 0, 2)
    assert 50 < last["requeue_after"] < 60
