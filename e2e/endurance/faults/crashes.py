"""The operator ends after a certain write, and what comes of the jobs is compared."""

from __future__ import annotations

import asyncio
from typing import Any

from e2e.endurance.faults.load import Scripted, draw_all
from e2e.endurance.faults.operators import written
from e2e.endurance.faults.stage import Stage
from e2e.endurance.faults.watcher import end_of

Outcome = dict[str, Any]


async def crash_after_write(stage: Stage) -> None:
    """For a job of each kind: the operator ends after its n-th write; what comes of the jobs is as if it had not."""
    jobs = draw_all(stage.rng, 6)
    async with stage.operator():
        before = stage.link.writes
        await _play(stage, jobs)
        truth = await _outcome(stage)
        writes = stage.link.writes - before
        await stage.delete_all()
    for last in sorted(stage.rng.sample(range(1, writes), stage.rounds)):
        operator = stage.start_operator()
        playing = asyncio.create_task(_play(stage, jobs))
        await written(stage, last)
        operator.child.kill()
        await stage.link.reset()
        stage.link.open()
        async with stage.operator():
            await playing
            await stage.or_complain(lambda: _differences(stage, truth), f"crash after write {last}", 30)
            await stage.delete_all()


async def _play(stage: Stage, jobs: list[Scripted]) -> None:
    """Let jobs of these names live, from the beginning to their end."""
    stage.jobs = []
    for job in jobs:
        stage.node.forget(job.name)
    await stage.create(jobs)
    await stage.settled()


async def _outcome(stage: Stage) -> Outcome:
    """What came of the jobs, as far as it does not depend on who was faster."""
    counted = ("active", "succeeded", "failed", "restarts", "completedIndexes")
    found: Outcome = {}
    for job in stage.jobs:
        status = (await stage.job(job)).get("status", {})
        replicas = status.get("replicaStatuses", {})
        found[job.name] = {
            "ends": [(c["type"], c["reason"], c["message"]) for c in end_of({"status": status})],
            "replicas": {type_: {key: each.get(key, 0) for key in counted} for type_, each in replicas.items()},
            "generation": status.get("observedGeneration"),
            "waiting": status.get("waiting"),
        }
    found["pods"] = sorted((pod["metadata"]["name"], pod["status"]["phase"]) for pod in await stage.pods())
    services = (await stage.api.call("GET", f"/api/v1/namespaces/{stage.namespace}/services"))["items"]
    found["services"] = sorted(service["metadata"]["name"] for service in services)
    return found


async def _differences(stage: Stage, truth: Outcome) -> list[str]:
    seen = await _outcome(stage)
    return [f"{key}: {seen[key]} should be {truth[key]}" for key in truth if seen[key] != truth[key]]
