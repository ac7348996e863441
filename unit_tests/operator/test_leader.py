import asyncio
import itertools
import json
import random
from typing import Any

import pytest
from unit_tests.operator.memory_api import MemoryApi, Network, now

from training_operator.kube.transport import Request
from training_operator.leader import LeaderElector, LeadershipLost, LeaseName

pytestmark = pytest.mark.virtual_time
PATH = "/apis/coordination.k8s.io/v1/namespaces/default/leases/operator"


class Process:
    """A process that leads when it may."""

    def __init__(self, api: MemoryApi, identity: str) -> None:
        self.network: Network = api.network()
        self.states = list[tuple[bool, float]]()
        self._identity = identity
        loop = asyncio.get_running_loop()
        self.elector = LeaderElector(
            self.network.client(),
            LeaseName("default", "operator"),
            identity,
            clock=loop.time,
            now=now,
            rng=random.Random(identity),
            observe=lambda leading: self.states.append((leading, loop.time())),
        )
        self.task = asyncio.create_task(self._run())

    async def _run(self) -> None:
        await self.elector.acquire()
        await self.elector.keep()

    @property
    def leads(self) -> bool:
        return bool(self.states) and self.states[-1][0]

    async def end(self, *, release: bool = False) -> None:
        self.task.cancel()
        await asyncio.wait([self.task])
        if release:
            await self.elector.release()


async def overwrite(api: MemoryApi, **changes: str) -> None:
    lease = await api.read(PATH)
    lease["spec"] |= changes
    answer = await api.network().request(Request("PUT", PATH, body=json.dumps(lease).encode()))
    assert answer.status == 200


async def spec(api: MemoryApi) -> dict[str, Any]:
    lease: dict[str, Any] = (await api.read(PATH))["spec"]
    return lease


async def test_the_first_one_leads_and_renews() -> None:
    api = MemoryApi()
    process = Process(api, "a")
    await asyncio.sleep(1)
    first = await spec(api)
    assert process.leads
    assert (first["holderIdentity"], first["leaseDurationSeconds"]) == ("a", 15)
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
    api = MemoryApi()
    leader = Process(api, "a")
    await asyncio.sleep(1)
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
    await other.end()


async def test_a_released_lease_is_taken_at_once() -> None:
    api = MemoryApi()
    leader = Process(api, "a")
    await asyncio.sleep(1)
    other = Process(api, "b")
    await asyncio.sleep(10)
    await leader.end(release=True)
    assert (await spec(api))["holderIdentity"] == ""
    await asyncio.sleep(3)
    assert other.leads
    await other.end()


async def test_clocks_of_other_machines_do_not_matter() -> None:
    api = MemoryApi()
    leader = Process(api, "a")
    await asyncio.sleep(1)
    await leader.end()
    await overwrite(api, renewTime="1999-01-01T00:00:00.000000Z")
    other = Process(api, "b")
    await asyncio.sleep(14)
    assert not other.leads
    await asyncio.sleep(5)
    assert other.leads
    await other.end()


async def test_a_leader_that_cannot_renew_gives_up_before_anybody_else_leads() -> None:
    api = MemoryApi()
    leader = Process(api, "a")
    await asyncio.sleep(1)
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


async def test_a_leader_whose_lease_was_taken_ends_with_its_next_renewal() -> None:
    api = MemoryApi()
    leader = Process(api, "a")
    await asyncio.sleep(1)
    await overwrite(api, holderIdentity="thief")
    with pytest.raises(LeadershipLost, match="another process"):
        await leader.task
    assert asyncio.get_running_loop().time() < 4
    await leader.elector.release()
    assert (await spec(api))["holderIdentity"] == "thief"


async def test_a_short_trouble_is_survived() -> None:
    api = MemoryApi()
    leader = Process(api, "a")
    await asyncio.sleep(1)
    leader.network.lost_answers = 1
    await asyncio.sleep(20)
    leader.network.down = True
    await asyncio.sleep(4)
    leader.network.down = False
    await asyncio.sleep(60)
    assert leader.leads
    assert not leader.task.done()
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


async def test_of_many_that_start_together_one_leads() -> None:
    api = MemoryApi()
    processes = [Process(api, str(number)) for number in range(5)]
    for _ in range(20):
        await asyncio.sleep(5)
        assert sum(process.leads for process in processes) == 1
    for process in processes:
        await process.end()


async def test_a_release_that_fails_is_no_harm() -> None:
    api = MemoryApi()
    process = Process(api, "a")
    await asyncio.sleep(1)
    process.network.down = True
    async with asyncio.timeout(2.5):
        await process.end(release=True)
