"""Stands in for the nodes: pods run, end as their jobs' script says, and take a moment to leave."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress

from e2e.endurance.faults.following import follow, patiently
from e2e.endurance.faults.load import LONGEST_RUN, Scripted, Slot
from e2e.endurance.faults.watcher import LABELS, PODS
from e2e.harness.client import Api, ApiError, Object

NODE = "node-0"
GRACE = 0.3
"""Seconds until a pod that is deleted has gone."""
JOB_NAME = "training.kubeflow.org/job-name"


class Node:
    """Runs the pods of scripted jobs, and for ever those of others."""

    def __init__(self, api: Api, rng: random.Random) -> None:
        self._api = api
        self._rng = rng
        self._jobs: dict[str, Scripted] = {}
        self._known: set[str] = set()
        self._leaving: set[str] = set()
        self._ended: Counter[Slot] = Counter()
        """Attempts that have ended, by slot; those of pods that were deleted before do not count."""
        self._done: set[Slot] = set()
        self._progress = asyncio.Condition()
        self.failures = 0
        """Attempts that have failed."""

    def expect(self, jobs: Sequence[Scripted]) -> None:
        """Play the script of these jobs."""
        self._jobs |= {job.name: job for job in jobs}

    def forget(self, name: str) -> None:
        """Play the script of a job from the beginning: another one of that name takes its place."""
        for counted in [slot for slot in self._ended if slot[0] == name]:
            del self._ended[counted]
        self._done = {slot for slot in self._done if slot[0] != name}

    async def run(self) -> None:
        """Run pods until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            await follow(self._api, PODS, lambda event, pod: self._saw(tasks, event, pod))

    def _saw(self, tasks: asyncio.TaskGroup, event: str, pod: Object) -> None:
        meta = pod["metadata"]
        if event == "DELETED":
            return
        if "deletionTimestamp" in meta:
            if meta["uid"] not in self._leaving:
                self._leaving.add(meta["uid"])
                tasks.create_task(self._let_go(pod))
        elif meta["uid"] not in self._known:
            self._known.add(meta["uid"])
            tasks.create_task(self._live(pod))

    async def _let_go(self, pod: Object) -> None:
        await asyncio.sleep(GRACE)
        options = {"gracePeriodSeconds": 0, "preconditions": {"uid": pod["metadata"]["uid"]}}
        with suppress(ApiError):  # it has gone already
            await patiently(self._api.call, "DELETE", path_of(pod), options)

    async def _live(self, pod: Object) -> None:
        with suppress(ApiError):  # it was deleted meanwhile
            await self._bind(pod)
            await self._tell(pod, "Running", {"running": {}})
            slot = slot_of(pod)
            job = self._jobs.get(slot[0])
            if job is None or (job.kind == "MPIJob" and slot != job.lead):
                return
            exits, attempt = job.exits.get(slot, []), self._ended[slot]
            code = exits[attempt] if attempt < len(exits) else 0
            if slot == job.lead and code == 0:
                await self._others(job)
            await asyncio.sleep(self._rng.uniform(0, LONGEST_RUN))
            if pod["metadata"]["uid"] not in self._leaving:
                await self._end(pod, slot, code)

    async def _others(self, job: Scripted) -> None:
        """The lead ends last, so that no other one is stopped by its end."""
        async with self._progress:
            await self._progress.wait_for(lambda: self._done.issuperset(job.awaited))

    async def _end(self, pod: Object, slot: Slot, code: int) -> None:
        phase = "Failed" if code else "Succeeded"
        stored = await self._tell(pod, phase, {"terminated": {"exitCode": code}})
        if "deletionTimestamp" in stored["metadata"]:
            return
        async with self._progress:
            self._ended[slot] += 1
            self.failures += code != 0
            if code == 0:
                self._done.add(slot)
            self._progress.notify_all()

    async def _bind(self, pod: Object) -> None:
        body = {"metadata": {"name": pod["metadata"]["name"]}, "target": {"kind": "Node", "name": NODE}}
        try:
            await patiently(self._api.create, f"{path_of(pod)}/binding", body)
        except ApiError as error:
            if error.status != 409:  # it was bound by an attempt without an answer
                raise

    async def _tell(self, pod: Object, phase: str, state: Object) -> Object:
        """Write the pod's status, all containers in one state; returns the pod as stored."""
        containers = [
            {"name": c["name"], "image": c["image"], "imageID": "", "ready": False, "restartCount": 0, "state": state}
            for c in pod["spec"]["containers"]
        ]
        patch = {
            "metadata": {"uid": pod["metadata"]["uid"]},
            "status": {"phase": phase, "containerStatuses": containers},
        }
        return await patiently(self._api.patch, f"{path_of(pod)}/status", patch)


def path_of(pod: Object) -> str:
    """Where a pod is."""
    return f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods/{pod['metadata']['name']}"


def slot_of(pod: Object) -> Slot:
    """The place of a pod in its job, by names."""
    labels = pod["metadata"].get("labels", {})
    return labels.get(JOB_NAME, ""), labels.get(LABELS[0], ""), int(labels.get(LABELS[1], 0))
