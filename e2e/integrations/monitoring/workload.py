"""Jobs with every fate that metrics tell apart; there is no node, so the nodes' part is played here."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from e2e.harness.client import Object, eventually
from e2e.harness.jobs import REPLICAS, Namespace, typical

from training_api.constants import EXTENSION_PREFIX

HOLD: Final = "example.com/hold"
"""A finalizer, with which a deleted pod stays as one on a node does that takes long to stop."""
TTL: Final = 5
"""Seconds after which a job that succeeded at once is deleted."""

Fate = Callable[[Namespace, Object], Awaitable[None]]


async def live(jobs: Namespace, name: str, kind: str, fate: Fate, *, pause: float = 0, work: float = 0) -> None:
    """Create a job, place its pods after `pause` seconds, let them run for `work` seconds, and see to its fate."""
    body = typical(name, kind)
    replicas = body["spec"][REPLICAS[kind]]
    if fate is succeed:
        body["spec"]["runPolicy"]["ttlSecondsAfterFinished"] = TTL
    for spec in replicas.values():
        spec["restartPolicy"] = "Never" if fate in (succeed, fail) else "OnFailure"
    if fate is restart_together:
        body["metadata"]["annotations"] = {f"{EXTENSION_PREFIX}restart-scope": "job"}
    await jobs.create(body)
    await jobs.pods_reach(name, len(replicas))
    await asyncio.sleep(pause)
    await jobs.set_phase(name, "Running")
    await jobs.condition(body, "Running")
    await asyncio.sleep(work)
    await fate(jobs, body)


async def go_on(_jobs: Namespace, _body: Object) -> None:
    """The job still runs when everything else is over, so that no scrape can miss it."""


async def succeed(jobs: Namespace, body: Object) -> None:
    """All replicas end well."""
    await jobs.set_phase(body["metadata"]["name"], "Running")
    await jobs.condition(body, "Running")
    await jobs.set_phase(body["metadata"]["name"], "Succeeded")
    await jobs.condition(body, "Succeeded")


async def fail(jobs: Namespace, body: Object) -> None:
    """A replica fails that may not restart."""
    await _fail_one(jobs, body)
    await jobs.condition(body, "Failed")


async def restart(jobs: Namespace, body: Object) -> None:
    """A replica fails and is replaced."""
    await _replaced(jobs, body, await _fail_one(jobs, body))
    await succeed(jobs, body)


async def restart_in_place(jobs: Namespace, body: Object) -> None:
    """The kubelet starts a container again."""
    pod = (await jobs.pods(body["metadata"]["name"]))[-1]
    container = pod["spec"]["containers"][0]
    state = {"name": container["name"], "image": container["image"], "imageID": "", "ready": True, "restartCount": 1}
    await _tell(jobs, pod, {"containerStatuses": [state]})
    await succeed(jobs, body)


async def evict(jobs: Namespace, body: Object) -> None:
    """A node is short of memory and ends a pod."""
    condition = {"type": "DisruptionTarget", "status": "True", "reason": "TerminationByKubelet"}
    await _replaced(jobs, body, await _fail_one(jobs, body, reason="Evicted", conditions=[condition]))
    await succeed(jobs, body)


async def restart_together(jobs: Namespace, body: Object) -> None:
    """A replica fails and all begin again, once the last of the old pods has gone; that takes some seconds."""
    name = body["metadata"]["name"]
    old = await jobs.pods(name)
    for pod in old:
        await jobs.api.patch(_path(jobs, pod), {"metadata": {"finalizers": [HOLD]}})
    await _fail_one(jobs, body)

    async def waits() -> bool:
        job = await jobs.api.call("GET", f"{jobs.jobs(body['kind'])}/{name}")
        return "waiting" in job["status"]

    await eventually(waits, f"{name} waits for its old pods")
    await asyncio.sleep(3)  # so that it is scraped
    for pod in old:
        await jobs.api.patch(_path(jobs, pod), {"metadata": {"finalizers": None}})
    await jobs.pods_reach(name, len(old))
    await succeed(jobs, body)


FATES: Final = {
    "XGBoostJob": succeed,
    "MPIJob": fail,  # these two fail for every failed pod
    "PyTorchJob": restart,
    "TFJob": restart_in_place,
    "PaddleJob": evict,
    "JAXJob": restart_together,
}


async def _fail_one(jobs: Namespace, body: Object, **status: object) -> Object:
    pod = (await jobs.pods(body["metadata"]["name"]))[-1]
    await _tell(jobs, pod, {"phase": "Failed", **status})
    return pod


async def _replaced(jobs: Namespace, body: Object, pod: Object) -> None:
    async def replaced() -> bool:
        found = await jobs.api.get(_path(jobs, pod))
        return found is not None and found["metadata"]["uid"] != pod["metadata"]["uid"]

    await eventually(replaced, f"another pod {pod['metadata']['name']}")


async def _tell(jobs: Namespace, pod: Object, status: Object) -> None:
    await jobs.api.patch(f"{_path(jobs, pod)}/status", {"status": status})


def _path(jobs: Namespace, pod: Object) -> str:
    return f"/api/v1/namespaces/{jobs.name}/pods/{pod['metadata']['name']}"
