"""What others do to jobs, pods, and what they need."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from e2e.endurance.faults.following import patiently
from e2e.endurance.faults.load import draw
from e2e.endurance.faults.node import path_of
from e2e.endurance.faults.stage import Stage
from e2e.endurance.faults.watcher import is_live
from e2e.harness.client import ApiError, Object, eventually
from e2e.harness.cluster import CRDS
from e2e.support.meanwhile import meanwhile


async def conflict_storm(stage: Stage) -> None:
    """Another client writes metadata and status of every job as fast as it can."""
    async with stage.operator(), meanwhile(_storm(stage)):
        await stage.create_all()
        await stage.watcher.let_pass(100 * stage.size)
    async with stage.operator():
        await stage.verify()


async def _storm(stage: Stage) -> None:
    number = 0
    while True:
        number += 1
        for job in list(stage.jobs):
            path = f"{stage.path(job.kind)}/{job.name}"
            await patiently(stage.api.patch, path, {"metadata": {"labels": {"storm": str(number)}}})
            stored = await stage.job(job)
            foreign = {"type": "Watched", "status": "True", "reason": "Storm", "message": str(number)}
            status = stored.setdefault("status", {})
            status["conditions"] = [*(c for c in status.get("conditions", ()) if c["type"] != "Watched"), foreign]
            with suppress(ApiError):  # the operator was faster
                await patiently(stage.api.call, "PUT", f"{path}/status", stored)
        await asyncio.sleep(0)


async def pods_deleted(stage: Stage) -> None:
    """A user deletes pods, whatever they are doing."""
    async with stage.operator():
        await stage.create_all()
        for _ in range(stage.rounds):
            await stage.progress()
            await delete_pods(stage, 0.4)
        await stage.verify()


async def delete_pods(stage: Stage, share: float) -> None:
    """Delete some of the pods that run, unless they end at this moment: how would not be known then."""
    for pod in await stage.pods():
        if is_live(pod) and stage.rng.random() < share:
            options: Object = {"preconditions": {"resourceVersion": pod["metadata"]["resourceVersion"]}}
            if stage.rng.random() < 0.3:
                options["gracePeriodSeconds"] = 0
            with suppress(ApiError):
                await patiently(stage.api.call, "DELETE", path_of(pod), options)


async def namespace_deleted(stage: Stage) -> None:
    """A namespace is deleted while jobs run in it; jobs of another one go on."""
    async with stage.operator():
        await stage.create_all()
        for number in range(stage.rounds):
            doomed = f"doomed-{number}"
            await patiently(stage.api.create, "/api/v1/namespaces", {"metadata": {"name": doomed}})
            kinds = [job.kind for job in stage.jobs[:6]]
            await stage.create([draw(stage.rng, f"{doomed}-{kind.lower()}", kind) for kind in kinds], doomed)
            await stage.progress()
            await patiently(stage.api.delete, f"/api/v1/namespaces/{doomed}")
            await gone(stage, f"/api/v1/namespaces/{doomed}")
        await stage.verify()


async def gone(stage: Stage, path: str) -> None:
    """Wait until the server has finished a deletion."""

    async def absent() -> bool:
        return await patiently(stage.api.get, path) is None

    await eventually(absent, f"the end of {path}", 90)


async def quota_exhausted(stage: Stage) -> None:
    """A quota leaves room for some pods only, which jobs say by events; then it is raised."""
    quotas = f"/api/v1/namespaces/{stage.namespace}/resourcequotas"
    quota: Object = {"metadata": {"name": "pods"}, "spec": {"hard": {"count/pods": "5"}}}
    await stage.api.create(quotas, quota)

    async def in_force() -> bool:
        found = await stage.api.get(f"{quotas}/pods") or {}
        return "count/pods" in found.get("status", {}).get("used", {})

    async def told() -> bool:
        events = (await stage.api.call("GET", f"/api/v1/namespaces/{stage.namespace}/events"))["items"]
        return any(e["reason"] == "FailedCreatePod" and "exceeded quota" in e["message"] for e in events)

    await eventually(in_force, "the quota to be in force")
    async with stage.operator():
        await stage.create_all()
        await eventually(told, "an event about the quota", 60)
        await stage.api.patch(f"{quotas}/pods", {"spec": {"hard": {"count/pods": "500"}}})
        await stage.verify()


async def definition_deleted(stage: Stage) -> None:
    """The definition of a kind is deleted with all its jobs, and made again; other kinds go on."""
    definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    crd = f"{definitions}/jaxjobs.kubeflow.org"
    async with stage.operator():
        await stage.create_all()
        for _ in range(stage.rounds):
            await stage.progress()
            await patiently(stage.api.delete, crd)
            lost = [job for job in stage.jobs if job.kind == "JAXJob"]
            stage.jobs = [job for job in stage.jobs if job not in lost]
            await gone(stage, crd)
            await stage.or_complain(lambda: _pods_of(stage, "JAXJob"), "no pods without their jobs", 90)
            await asyncio.to_thread(stage.plane.cluster.apply_crds, CRDS / "kubeflow.org_jaxjobs.yaml")
            for job in lost:
                stage.node.forget(job.name)
            await stage.create(lost)
        await stage.verify()


async def _pods_of(stage: Stage, kind: str) -> list[str]:
    owned = [(pod["metadata"]["name"], pod["metadata"].get("ownerReferences", ())) for pod in await stage.pods()]
    return [name for name, owners in owned if any(owner["kind"] == kind for owner in owners)]
