import asyncio
import itertools
import json
from typing import Any

import pytest
from structlog.testing import capture_logs
from unit_tests.operator.contender import Process, leading, overwrite, spec
from unit_tests.operator.memory_api import MemoryApi

from training_operator.leader import JITTER, LEASE_SECONDS, LOOK_SECONDS, RENEW_SECONDS, RETRY_SECONDS, LeadershipLost

pytestmark = pytest.mark.virtual_time


async def test_the_first_one_leads_and_renews() -> None:
    api, process = await leading()
    first = await spec(api)
    assert process.leads
    assert (first["holderIdentity"], first["leaseDurationSeconds"]) == ("a", 15)
    created = json.loads(process.network.requests[1].body or b"")
    assert (created["apiVersion"], created["kind"]) == ("coordination.k8s.io/v1", "Lease")
    assert created["metadata"] == {"name": "operator", "namespace": "default"}
    await asyncio.sleep(60)
    later = await spec(api)
    assert later["renewTime"] > first["renewTime"]
    assert later["acquireTime"] == first["acquireTime"]
    assert later["leaseTransitions"] == first["leaseTransitions"]
    sent = zip(process.network.requests, process.network.times, strict=True)
    writes = [time for request, time in sent if request.method == "PUT"]
    assert all(2 <= after - before < 2.5 for before, after in itertools.pairwise(writes))
    await process.end()


async def test_another_one_waits_until_the_lease_has_not_changed_for_its_duration() -> None:
    api, leader = await leading()
    other = Process(api, "b")
    await asyncio.sleep(100)
    assert (leader.leads, other.leads) == (True, False)
    await leader.end()
    died = asyncio.get_running_loop().time()
    await asyncio.sleep(30)
    assert other.leads
    assert other.states[0][1] - died >= 12
    lease = await spec(api)
    assert (lease["holderIdentity"], lease["leaseTransitions"]) == ("b", 1)
    await other.end(release=True)
    third = Process(api, "c")
    await asyncio.sleep(1)
    assert third.leads
    assert (await spec(api))["leaseTransitions"] == 2
    await third.end()


async def test_one_that_waits_looks_often_and_not_in_step_with_others() -> None:
    api, leader = await leading()
    other = Process(api, "b")
    await asyncio.sleep(60)
    pauses = [after - before for before, after in itertools.pairwise(other.network.times)]
    assert LOOK_SECONDS <= min(pauses) < 1.05 * LOOK_SECONDS
    assert (1 + JITTER) * LOOK_SECONDS >= max(pauses) > 1.15 * LOOK_SECONDS
    await leader.end()
    await other.end()


async def test_a_released_lease_is_taken_at_once() -> None:
    api, leader = await leading()
    other = Process(api, "b")
    await asyncio.sleep(10)
    await leader.end(release=True)
    lease = await spec(api)
    assert (lease["holderIdentity"], lease["leaseDurationSeconds"]) == ("", 1)
    await asyncio.sleep(0.5)
    assert other.leads
    await other.end()


@pytest.mark.parametrize(
    ("change", "holder"), [({"renewTime": "2026-01-01T00:00:03.000000Z"}, ""), ({"holderIdentity": "thief"}, "thief")]
)
async def test_a_lease_is_released_by_its_holder_only(change: dict[str, Any], holder: str) -> None:
    """By this one also after a renewal whose response was lost."""
    api, process = await leading()
    await overwrite(api, **change)
    await process.end(release=True)
    assert (await spec(api))["holderIdentity"] == holder


async def test_clocks_of_other_machines_do_not_matter() -> None:
    api, leader = await leading()
    await leader.end()
    await overwrite(api, renewTime="1999-01-01T00:00:00.000000Z")
    other = Process(api, "b")
    await asyncio.sleep(14)
    assert not other.leads
    await asyncio.sleep(5)
    assert other.leads
    await other.end()


async def test_a_leader_that_cannot_renew_gives_up_before_anybody_else_leads() -> None:
    api, leader = await leading()
    other = Process(api, "b")
    await asyncio.sleep(20)
    leader.network.down = True
    with pytest.raises(LeadershipLost, match="not renewed"):
        await leader.task
    lost = asyncio.get_running_loop().time()
    assert leader.states[-1] == (False, lost)
    assert 21 + 7 <= lost <= 21 + 10  # its last renewal was at most 2.4 s before the network went down
    sent = len(leader.network.requests)
    await asyncio.sleep(30)
    assert other.leads
    assert other.states[0][1] > lost
    assert len(leader.network.requests) == sent
    await other.end()


@pytest.mark.parametrize("rejected", [False, True])
@pytest.mark.parametrize("renewals", [0, 3])
async def test_the_lease_holds_from_the_request_for_it_and_not_from_its_answer(renewals: int, rejected: bool) -> None:
    api = MemoryApi()
    leader = Process(api, "a")
    leader.network.latency = 1.4
    await asyncio.sleep(3 + renewals * (RETRY_SECONDS + 1.4))  # just behind an answer
    assert leader.leads
    begun = leader.network.times[-1] if renewals else 0.0  # it is taken with two requests, a look and a write
    leader.network.leases_lost, leader.network.leases_rejected = not rejected, rejected
    end = begun + RENEW_SECONDS
    await asyncio.sleep(end - 0.5 - asyncio.get_running_loop().time())
    assert leader.elector.certain()
    with pytest.raises(LeadershipLost, match="not renewed"):
        await leader.task
    assert asyncio.get_running_loop().time() == pytest.approx(end)
    assert not leader.elector.certain()


@pytest.mark.parametrize(("written", "seconds"), [(5, 5), (60, 60), (None, LEASE_SECONDS)])
async def test_the_duration_in_the_lease_counts(written: int | None, seconds: int) -> None:
    api, first = await leading("gone")
    await first.end()
    await overwrite(api, leaseDurationSeconds=written)
    other = Process(api, "b")
    await asyncio.sleep(seconds - 0.5)
    assert not other.leads
    await asyncio.sleep(2)
    assert other.leads
    await other.end()


async def test_a_leader_whose_lease_was_taken_ends_with_its_next_renewal() -> None:
    api, leader = await leading()
    await overwrite(api, holderIdentity="thief")
    with pytest.raises(LeadershipLost, match="another process"):
        await leader.task
    assert asyncio.get_running_loop().time() < 4
    await leader.elector.release()
    assert (await spec(api))["holderIdentity"] == "thief"


async def test_a_short_outage_is_survived() -> None:
    _, leader = await leading()
    leader.network.lost_answers = 1
    await asyncio.sleep(20)
    leader.network.down = True
    await asyncio.sleep(4)
    leader.network.down = False
    await asyncio.sleep(60)
    assert leader.leads
    assert not leader.task.done()
    await leader.end()


async def test_a_leader_that_takes_its_own_lease_again_has_led_all_the_time() -> None:
    api, leader = await leading()
    first = await spec(api)
    leader.network.lost_answers = 1
    await asyncio.sleep(10)
    later = await spec(api)
    assert later["renewTime"] > first["renewTime"]
    assert (later["acquireTime"], later["leaseTransitions"]) == (first["acquireTime"], first["leaseTransitions"])
    await leader.end()


async def test_a_server_that_cannot_be_reached_is_tried_again() -> None:
    api = MemoryApi()
    process = Process(api, "a")
    process.network.down = True
    await asyncio.sleep(60)
    assert not process.leads
    process.network.down = False
    await asyncio.sleep(40)
    assert process.leads
    await process.end()


@pytest.mark.parametrize("given_back", [False, True])
async def test_of_many_that_start_together_one_leads(given_back: bool) -> None:
    """They see at the same moment that there is no lease, or that it has no holder."""
    api = MemoryApi()
    if given_back:
        first = Process(api, "first")
        await asyncio.sleep(1)
        await first.end(release=True)
    processes = [Process(api, str(number)) for number in range(5)]
    await asyncio.sleep(100)
    assert [len(process.states) for process in processes].count(0) == 4
    assert sum(process.leads for process in processes) == 1
    for process in processes:
        await process.end()


async def test_a_release_that_fails_is_no_harm() -> None:
    _, process = await leading()
    process.network.down = True
    async with asyncio.timeout(2.5):
        await process.end(release=True)


GO = "manager/v0.0.0 (linux/amd64) kubernetes/$Format/leader-election"
"""How the Go operator's leader election names itself."""


async def test_the_go_operator_is_waited_for_while_it_renews_and_named() -> None:
    api, first = await leading("gone")
    await first.end(release=True)
    await overwrite(api, GO, holderIdentity="training-operator-7d5_1", leaseDurationSeconds=15)
    with capture_logs() as logs:
        process = Process(api, "a")
        for second in range(30):
            await overwrite(api, GO, renewTime=f"2026-01-01T00:00:{second:02}.000000Z")
            await asyncio.sleep(2)
    assert not process.leads
    assert [request.method for request in process.network.requests if request.method != "GET"] == []
    (line,) = logs
    assert (line["log_level"], line["holder"], line["program"]) == ("warning", "training-operator-7d5_1", "manager")
    assert "is scaled to 0" in line["event"]
    await asyncio.sleep(LEASE_SECONDS + 1)
    assert process.leads
    assert (await spec(api))["holderIdentity"] == "a"
    await process.end()


@pytest.mark.parametrize("anonymous", [False, True])
async def test_a_standby_of_the_same_program_is_not_warned_of(anonymous: bool) -> None:
    """Nor is one of a program that the API server does not know, because the managed fields were removed."""
    api, leader = await leading()
    await overwrite(api, anonymous=anonymous, acquireTime="2026-01-01T00:00:00.500000Z")
    with capture_logs() as logs:
        other = Process(api, "b")
        await asyncio.sleep(60)
    assert [(line["log_level"], line["event"]) for line in logs] == [("info", "waiting for the lease")]
    await leader.end()
    await other.end()


@pytest.mark.parametrize(("fault", "error"), [("down", "TimeoutError()"), ("leases_rejected", "not now")])
async def test_a_lease_that_cannot_be_had_is_requested_without_a_rush_and_logged_once(fault: str, error: str) -> None:
    process = Process(MemoryApi(), "a")
    setattr(process.network, fault, True)
    with capture_logs() as logs:
        await asyncio.sleep(60)
    pauses = [after - before for before, after in itertools.pairwise(process.network.times)]
    assert min(pauses) >= RETRY_SECONDS
    assert [(line["event"], line["error"]) for line in logs] == [("lease not reached: retrying", error)]
    await process.end()
