"""Writes leave only while the lease is held."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import random

import pytest
from unit_tests.operator.contender import Process, leading, overwrite, spec

from training_operator.kube.client import KubeClient
from training_operator.kube.connecting import UNACKNOWLEDGED_SECONDS
from training_operator.kube.flow import FairGate
from training_operator.kube.resources import PODS
from training_operator.leader import LEASE_SECONDS, RENEW_SECONDS, LeadershipLost

pytestmark = pytest.mark.virtual_time


async def writes_of(process: Process) -> None:
    """Write something whenever it is allowed."""
    client = KubeClient(process.network, FairGate(), random.Random(1), fence=process.elector)
    for number in itertools.count():
        body = {"metadata": {"name": f"pod-{number}"}, "spec": {"containers": [{"name": "main", "image": "main:1"}]}}
        await client.create(PODS, "default", body)
        await asyncio.sleep(0.1)


def written_at(process: Process) -> list[float]:
    """When a process has written anything but the lease."""
    sent = zip(process.network.requests, process.network.times, strict=True)
    return [time for request, time in sent if request.method == "POST" and request.path.endswith("/pods")]


async def test_nothing_is_written_before_leading() -> None:
    api, leader = await leading()
    other = Process(api, "b")
    writing = asyncio.create_task(writes_of(other))
    await asyncio.sleep(60)
    assert written_at(other) == []
    await leader.end(release=True)
    await asyncio.sleep(1)
    assert written_at(other)
    writing.cancel()
    await other.end()


@pytest.mark.parametrize("seconds", [RENEW_SECONDS, LEASE_SECONDS, 60.0])
async def test_a_process_that_stood_still_writes_nothing_when_it_goes_on(seconds: float) -> None:
    """Whatever it does first: here it writes before it looks at the lease."""
    api, leader = await leading()
    writing = asyncio.create_task(writes_of(leader))
    await asyncio.sleep(5.5)  # between two renewals, so that it does something before it notices
    leader.stood_still = seconds
    woken, renewals = asyncio.get_running_loop().time(), (await spec(api))["renewTime"]
    with pytest.raises(LeadershipLost, match="not renewed"):
        await leader.task
    assert woken - 1 < max(written_at(leader)) <= woken
    assert (await spec(api))["renewTime"] == renewals
    writing.cancel()


async def test_a_process_that_stood_still_for_a_moment_goes_on() -> None:
    _, leader = await leading()
    writing = asyncio.create_task(writes_of(leader))
    await asyncio.sleep(5)
    leader.stood_still = RENEW_SECONDS - 3
    await asyncio.sleep(30)
    assert leader.leads
    assert max(written_at(leader)) > 35
    writing.cancel()
    await leader.end()


@pytest.mark.parametrize("how", ["released", "stolen", "cut off"])
async def test_nothing_is_written_after_the_end_of_the_lease(how: str) -> None:
    api, leader = await leading()
    writing = asyncio.create_task(writes_of(leader))
    await asyncio.sleep(4)  # between two renewals
    if how == "released":
        await leader.end(release=True)
    elif how == "stolen":
        await overwrite(api, holderIdentity="thief")
    else:
        leader.network.leases_lost = True
    with contextlib.suppress(LeadershipLost, asyncio.CancelledError):
        await leader.task
    over = asyncio.get_running_loop().time()
    await asyncio.sleep(60)
    assert over - LEASE_SECONDS < max(written_at(leader)) <= over
    writing.cancel()


@pytest.mark.parametrize("cut_off", [False, True])
async def test_a_write_that_got_its_connection_after_the_end_of_the_lease_does_not_leave(cut_off: bool) -> None:
    api, leader = await leading()
    leader.network.connecting = lambda request: 0.0 if "/leases/" in request.path else RENEW_SECONDS + 1
    leader.network.leases_lost = cut_off
    writing = asyncio.create_task(writes_of(leader))
    await asyncio.sleep(RENEW_SECONDS + 2)
    assert len(written_at(leader)) > 0
    assert len((await api.read("/api/v1/namespaces/default/pods"))["items"]) == (0 if cut_off else 1)
    writing.cancel()
    await leader.end()


def test_what_the_network_holds_is_dropped_before_another_one_leads() -> None:
    assert RENEW_SECONDS + UNACKNOWLEDGED_SECONDS <= LEASE_SECONDS
