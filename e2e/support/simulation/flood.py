"""A job whose pods all fail, and what that costs the API server."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from e2e.support.simulation.api import Json
from e2e.support.simulation.cluster import Cluster, cluster
from e2e.support.simulation.jobs import jax

from training_operator.kube.transport import Request, Response


@dataclass(frozen=True, slots=True)
class Flood:
    """What was counted from the creation of the job until all was quiet again."""

    seconds: float
    status_writes: int
    most_writes_in_a_second: int
    """After the first ten seconds, which the creation takes."""
    events: int
    job: Json


async def flood(pods: int, policy: str, *, pause: float = 0.02) -> Flood:
    """Have every pod of a job with restart policy `policy` fail, one `pause` seconds after the other."""
    times: list[float] = []

    def note(request: Request) -> Response | None:
        if request.method == "PATCH" and request.path.endswith("/jx/status"):
            times.append(asyncio.get_running_loop().time())
        return None

    async with cluster() as world:
        world.operator().transport.reject = note
        await world.api.create(jax(workers=pods, policy=policy, cleanPodPolicy="All"))
        await asyncio.sleep(10)
        for index in range(pods):
            await world.kubelet.running(f"jx-worker-{index}")
            await asyncio.sleep(pause)
        for index in range(pods):
            await _fail(world, f"jx-worker-{index}")
            await asyncio.sleep(pause)
        await asyncio.sleep(60)
        later = [moment for moment in times if moment >= 10]
        most = max((sum(begin <= other < begin + 1 for other in later) for begin in later), default=0)
        events = await world.api.list("Event")
        job = await world.job("JAXJob", "jx")
        return Flood(asyncio.get_running_loop().time(), len(times), most, len(events), job["status"])


async def _fail(world: Cluster, name: str) -> None:
    """The first failure may have ended the job, and the job's end the other pods."""
    pod = await world.api.get("Pod", name)
    if pod is not None and "deletionTimestamp" not in pod["metadata"]:
        await world.kubelet.ended(name, 137)
