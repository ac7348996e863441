"""Where jobs are measured: a namespace of a bare control plane, a fast client, and an eye on pods and jobs."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from typing import Any

import msgspec
from e2e.harness.client import Object

from training_api.registry import KINDS
from training_operator.kube.client import KubeClient
from training_operator.kube.resources import PODS, Resource, jobs

LIMIT = 300.0
"""Seconds after which a measurement is given up."""
JOBS = jobs(KINDS["PyTorchJob"])


class _Condition(msgspec.Struct):
    type: str
    status: str


class _Status(msgspec.Struct):
    conditions: list[_Condition] = []


class _Job(msgspec.Struct):
    status: _Status = msgspec.field(default_factory=_Status)


_decode_job = msgspec.json.Decoder(_Job).decode


class Stage:
    """One namespace, and when what was seen in it."""

    def __init__(self, client: KubeClient, namespace: str) -> None:
        self._client, self.namespace = client, namespace
        self.pods: dict[str, str] = {}
        """The phase of each pod."""
        self.owners: dict[str, str] = {}
        """The job of each pod."""
        self.first_pod: dict[str, float] = {}
        """When the first pod of each job was seen; all times are those of `time.perf_counter`."""
        self.last_pod = 0.0
        """When the last change of a pod was seen."""
        self.jobs: dict[str, frozenset[str]] = {}
        """The true conditions of each job."""
        self.last_job = 0.0
        """When the last change of a job's conditions was seen."""
        self._changed = asyncio.Event()

    @asynccontextmanager
    async def watched(self) -> AsyncIterator[None]:
        """Look at pods and jobs inside the context, which a broken watch ends."""
        async with asyncio.TaskGroup() as group:
            follow = ((PODS, self._saw_pod), (JOBS, self._saw_job))
            tasks = [group.create_task(self._follow(resource, saw)) for resource, saw in follow]
            yield
            for task in tasks:
                task.cancel()

    async def create_jobs(self, bodies: Iterable[Object]) -> None:
        """Create jobs, as many at a time as the client lets through."""
        await asyncio.gather(*(self._client.create(JOBS, self.namespace, body) for body in bodies))

    async def move_pods(self, phase: str) -> None:
        """Move all pods to a phase, as fast as the server takes it; what a kubelet would say of one container."""
        patch = {"status": pod_status(phase)}
        await asyncio.gather(
            *(self._client.patch(PODS, self.namespace, name, patch, subresource="status") for name in self.pods)
        )

    async def run(self, phase: str) -> float:
        """Move all pods until all jobs say so; seconds from the last pod's change to the last job's."""
        moving = asyncio.create_task(self.move_pods(phase))
        await self.until(lambda: all(each == phase for each in self.pods.values()), f"all pods {phase}")
        await moving
        await self.until(lambda: all(phase in each for each in self.jobs.values()), f"all jobs {phase}")
        return max(self.last_job - self.last_pod, 0.0)

    async def until(self, reached: Callable[[], bool], what: str) -> None:
        """Wait until something holds of what was seen."""
        try:
            async with asyncio.timeout(LIMIT):
                while not reached():
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            raise AssertionError(f"not within {LIMIT:.0f} s: {what}; {len(self.pods)} pods were seen") from None

    async def _follow(self, resource: Resource[Any], saw: Callable[[str, bytes], None]) -> None:
        while True:
            async with self._client.watch(resource, self.namespace, version="0", seconds=600) as events:
                async for event in events:
                    if event.type in ("ADDED", "MODIFIED"):
                        saw(event.type, event.object)
                        self._changed.set()

    def _saw_pod(self, _type: str, raw: bytes) -> None:
        pod = PODS.decode(raw)
        if self.pods.get(pod.name) != pod.phase:
            self.pods[pod.name], self.last_pod = pod.phase, time.perf_counter()
        if pod.owner is not None and pod.name not in self.owners:
            self.owners[pod.name] = pod.owner.name
            self.first_pod.setdefault(pod.owner.name, self.last_pod)

    def _saw_job(self, _type: str, raw: bytes) -> None:
        name = JOBS.decode(raw).name
        true = frozenset(each.type for each in _decode_job(raw).status.conditions if each.status == "True")
        if self.jobs.get(name) != true:
            self.jobs[name], self.last_job = true, time.perf_counter()


def pod_status(phase: str) -> Object:
    """The status of a pod of a job whose only container runs, or has ended well."""
    moment = "2026-01-01T00:00:00Z"
    ended = {"terminated": {"exitCode": 0, "reason": "Completed", "startedAt": moment, "finishedAt": moment}}
    container = {
        "name": "pytorch",
        "image": "example.com/train:1",
        "imageID": "example.com/train@sha256:0",
        "containerID": "containerd://0",
        "ready": phase == "Running",
        "restartCount": 0,
        "state": {"running": {"startedAt": moment}} if phase == "Running" else ended,
    }
    ready = {"type": "Ready", "status": str(phase == "Running")}
    return {"phase": phase, "startTime": moment, "conditions": [ready], "containerStatuses": [container]}


async def timed(work: Awaitable[object]) -> float:
    """Seconds that something takes."""
    begun = time.perf_counter()
    await work
    return time.perf_counter() - begun
