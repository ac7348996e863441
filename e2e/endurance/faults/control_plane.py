"""What happens to the control plane and to the way there."""

from __future__ import annotations

import asyncio

import aiohttp
from e2e.endurance.faults.load import draw_all
from e2e.endurance.faults.objects import delete_pods
from e2e.endurance.faults.stage import Stage
from e2e.harness.bare import API_SERVER, ETCD


async def api_server_killed(stage: Stage) -> None:
    """The API server is killed and comes back."""
    async with stage.operator():
        await stage.create_all()
        for _ in range(stage.rounds):
            await stage.progress()
            stage.plane.kill(API_SERVER)
            await asyncio.sleep(stage.rng.uniform(0, 3))
            await stage.restart_api_server()
        await stage.verify()


async def etcd_paused(stage: Stage) -> None:
    """etcd stands still for 20 s, its connections open."""
    async with stage.operator():
        await stage.create_all()
        for _ in range(stage.rounds):
            await stage.progress()
            stage.plane.pause(ETCD)
            await asyncio.sleep(20)
            stage.plane.go_on(ETCD)
            await asyncio.to_thread(stage.plane.wait_ready)
        await stage.verify()


async def network_cut(stage: Stage) -> None:
    """Between operator and API server nothing passes for a while (and arrives late), or connections are refused."""
    async with stage.operator():
        await stage.create_all()
        for number in range(stage.rounds):
            await stage.progress()
            if number % 2:
                await stage.link.refuse()
            else:
                stage.link.hold()
            await asyncio.sleep(stage.rng.uniform(1, 8))
            if stage.rng.random() < 0.5:
                await stage.link.reset()
            stage.link.open()
        await stage.verify()


async def history_compacted(stage: Stage) -> None:
    """What the operator misses while it is cut off is compacted away, and the API server forgets it."""
    jobs = draw_all(stage.rng, stage.size)
    half = len(jobs) // 2
    async with stage.operator():
        await stage.create(jobs[:half])
        for _ in range(stage.rounds):
            await stage.progress()
            await stage.link.refuse()
            await stage.create(jobs[half : half + 2])
            half += 2
            await delete_pods(stage, 0.3)
            await _compact(stage)
            stage.plane.kill(API_SERVER)
            await stage.restart_api_server()
            stage.link.open()
        await stage.create(jobs[half:])
        await stage.verify()
    if stage.link.expired == 0:
        stage.complaints.append("no watch of the operator was rejected as too old: nothing was tried")


async def _compact(stage: Stage) -> None:
    """Drop the history of etcd up to now, through its JSON gateway."""
    async with aiohttp.ClientSession(stage.plane.etcd) as etcd:
        async with etcd.post("/v3/kv/range", json={"key": "AA=="}) as answer:
            revision = (await answer.json())["header"]["revision"]
        async with etcd.post("/v3/kv/compaction", json={"revision": revision, "physical": True}) as answer:
            answer.raise_for_status()
