"""One attack after the other, beside jobs of other tenants, and what it has cost."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from e2e.bench.hostile.limited import Heartbeat, heartbeat, limited_operator, memory_limited
from e2e.bench.hostile.others import Others
from e2e.bench.many.clean import new_namespace
from e2e.bench.many.stage import Stage
from e2e.harness.client import Api, eventually
from e2e.harness.cluster import Cluster
from e2e.harness.floor import fast_client
from e2e.harness.jobs import Namespace
from e2e.harness.operator import Operator
from e2e.harness.usage import memory_mb

Attack = Callable[[Api, Namespace], Awaitable[object]]


@dataclass(frozen=True, slots=True)
class Cost:
    """What an attack has cost the operator and the others."""

    peak_mb: float
    """Since the start of the operator."""
    heartbeat: Heartbeat
    median_lag_ms: float
    longest_lag_ms: float
    median_floor_ms: float
    lags: int
    load: float
    """Programs that compute, or wait for a processor, on the machine: the average of a minute."""

    def __str__(self) -> str:
        beat = self.heartbeat
        stall = (
            f"stall {beat.stall_ms:.0f} ms (without waiting for a processor {beat.apart_ms:.0f}, "
            f"computing {beat.computing_ms:.0f}; an idle program {beat.idle_ms:.0f})"
        )
        others = (
            f"others {self.median_lag_ms:.0f} ms, at most {self.longest_lag_ms:.0f} ms of {self.lags} "
            f"(directly {self.median_floor_ms:.0f})"
        )
        return f"peak {self.peak_mb:.0f} MB   {stall}   {others}   load {self.load:.0f}"


class Scene:
    """An operator at its memory limit, with jobs of other tenants in front of it."""

    def __init__(self, api: Api, operator: Operator, others: Others, pause: float) -> None:
        self.api, self.operator = api, operator
        self._others, self._pause = others, pause
        self._serial = 0

    async def namespace(self) -> Namespace:
        """A namespace for an attacker."""
        self._serial += 1
        return Namespace(self.api, await new_namespace(self.api, f"hostile-{self.operator.child.pid}-{self._serial}"))

    async def under(self, attack: Attack, namespace: Namespace, seconds: float = 0, lags: int = 0) -> Cost:
        """Attack, and look on for so many seconds after it, and until the others have done so much."""

        async def enough() -> bool:
            return len(self._others.lags) >= max(lags, 1) and bool(self._others.floors)

        with heartbeat(self.operator) as beat:
            async with self._others.going_on(self._pause):
                await attack(self.api, namespace)
                await asyncio.sleep(seconds)
                await eventually(enough, f"{lags} steps of the others", 300)
        self.operator.child.check_alive()
        peak = memory_mb(self.operator.child.pid, "VmHWM")
        return Cost(peak, beat, *self._others.summary, len(self._others.lags), os.getloadavg()[0])


@asynccontextmanager
async def scene(
    cluster: Cluster, api: Api, folder: Path, others: int, pause: float, *flags: str
) -> AsyncIterator[tuple[Scene, bool]]:
    """A scene with so many jobs of others, and whether the memory limit is enforced."""
    async with fast_client(cluster) as client:
        with (
            memory_limited() as group,
            limited_operator(cluster.kubeconfig, folder / "operator.log", group, *flags) as operator,
        ):
            stage = Stage(client, await new_namespace(api, f"others-{operator.child.pid}"))
            async with stage.watched():
                jobs = Others(client, stage)
                await jobs.begin(others)
                yield Scene(api, operator, jobs, pause), group is not None
