"""A process that contends for the lease, and the lease as the API server has it."""

from __future__ import annotations

import asyncio
import json
import random
from typing import Any

from unit_tests.operator.memory_api import MemoryApi, Network, now

from training_operator.kube.transport import AGENT, Request
from training_operator.leader import LeaderElector, LeaseName

PATH = "/apis/coordination.k8s.io/v1/namespaces/default/leases/operator"


class Process:
    """A process that leads when it may."""

    def __init__(self, api: MemoryApi, identity: str) -> None:
        self.network: Network = api.network()
        self.states = list[tuple[bool, float]]()
        self.stood_still = 0.0
        """For how many seconds this process has not run, while time went on."""
        self._identity = identity
        loop = asyncio.get_running_loop()
        self.elector = LeaderElector(
            self.network.client(),
            LeaseName("default", "operator"),
            identity,
            clock=lambda: loop.time() + self.stood_still,
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


async def leading(identity: str = "a") -> tuple[MemoryApi, Process]:
    """An API server, and a process that has taken the lease a second ago."""
    api = MemoryApi()
    leader = Process(api, identity)
    await asyncio.sleep(1)
    return api, leader


async def overwrite(api: MemoryApi, program: str = AGENT, *, anonymous: bool = False, **changes: Any) -> None:
    """Write the lease as another process of a program does; if `anonymous`, without managed fields."""
    lease = await api.read(PATH)
    lease["spec"] |= changes
    if anonymous:
        lease["metadata"]["managedFields"] = [{}]
    body = json.dumps(lease).encode()
    answer = await api.network().request(Request("PUT", PATH, body=body, user_agent=program))
    assert answer.status == 200


async def spec(api: MemoryApi) -> dict[str, Any]:
    lease: dict[str, Any] = (await api.read(PATH))["spec"]
    return lease
