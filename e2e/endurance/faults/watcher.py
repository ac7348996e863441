"""An observer with full rights and a connection of its own, who says what should not have happened."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from typing import Any

from e2e.endurance.faults.following import follow
from e2e.harness.client import Api, Object
from e2e.harness.jobs import PLURALS

PODS = "/api/v1/pods"
LABELS = ("training.kubeflow.org/replica-type", "training.kubeflow.org/replica-index")
ENDS = ("Succeeded", "Failed")
Place = tuple[str, str, str]
"""Uid of the job, replica type in lower case, index."""


class Watcher:
    """Follows pods and jobs of all kinds, and collects complaints."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self.complaints: list[str] = []
        self.changes = 0
        """Changes of pods and jobs seen so far: the time by which faults are timed."""
        self.created = 0
        """Pods seen so far."""
        self._moved = asyncio.Event()
        self._pods: dict[str, Object] = {}
        self._succeeded: dict[Place, str] = {}
        """Pod that has completed a place, by place."""
        self._ends: dict[str, Object] = {}
        """The condition with which a job ended, by uid."""
        self._completions: dict[str, str] = {}
        self._restarts: dict[tuple[str, str], int] = defaultdict(int)
        self.started = 0
        """Jobs seen so far."""
        self._jobs: set[str] = set()

    async def run(self) -> None:
        """Watch until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(follow(self._api, PODS, self.saw_pod))
            for plural in PLURALS.values():
                tasks.create_task(follow(self._api, f"/apis/kubeflow.org/v1/{plural}", self.saw_job))

    async def let_pass(self, changes: int, limit: float = 20.0) -> None:
        """Return after so many further changes, or after `limit` seconds if fewer happen."""
        goal = self.changes + changes
        try:
            async with asyncio.timeout(limit):
                while self.changes < goal:
                    self._moved.clear()
                    await self._moved.wait()
        except TimeoutError:
            pass

    def _count(self) -> None:
        self.changes += 1
        self._moved.set()

    def _complain(self, text: str) -> None:
        if text not in self.complaints:
            self.complaints.append(text)

    def saw_pod(self, event: str, pod: Object) -> None:
        """Take note of a change of a pod: one live pod at most has a place, and nothing is run twice."""
        self._count()
        meta = pod["metadata"]
        if event == "DELETED":
            self._pods.pop(meta["uid"], None)
            return
        new = meta["uid"] not in self._pods
        self.created += new
        self._pods[meta["uid"]] = pod
        if (place := place_of(pod)) is None:
            return
        others = [each for each in self._pods.values() if each is not pod and place_of(each) == place]
        if is_live(pod) and (rivals := [each["metadata"]["name"] for each in others if is_live(each)]):
            self._complain(f"{meta['namespace']}/{meta['name']} lives beside {rivals}, which have the same place")
        if new and (done := self._succeeded.get(place)):
            self._complain(f"{meta['namespace']}/{meta['name']} runs what pod {done} had completed")
        if pod["status"].get("phase") == "Succeeded" and "deletionTimestamp" not in meta:
            self._succeeded[place] = meta["uid"]

    def saw_job(self, event: str, job: Object) -> None:
        """Take note of a change of a job: it ends once, and its restarts never fall."""
        self._count()
        if event == "DELETED":
            return
        self._jobs.add(job["metadata"]["uid"])
        self.started = len(self._jobs)
        self._check_end(job)
        self._check_restarts(job)

    def _check_end(self, job: Object) -> None:
        """A job ends once, in one way, at one time."""
        uid, name, status = job["metadata"]["uid"], name_of(job), job.get("status", {})
        ends = end_of(job)
        before = self._ends.get(uid)
        if len(ends) > 1:
            self._complain(f"{name} has succeeded and failed")
        if before is not None and before not in ends:
            self._complain(f"{name} had ended with {before} and now has {ends}")
        if before is None and ends:
            self._ends[uid] = ends[0]
        completion = status.get("completionTime")
        if self._completions.setdefault(uid, completion or "") not in ("", completion):
            self._complain(f"{name} was completed at {self._completions[uid]}, and now at {completion}")
        self._completions[uid] = self._completions[uid] or completion or ""

    def _check_restarts(self, job: Object) -> None:
        """What has been counted stays counted."""
        for replica_type, counters in job.get("status", {}).get("replicaStatuses", {}).items():
            key, restarts = (job["metadata"]["uid"], replica_type), counters.get("restarts", 0)
            if restarts < self._restarts[key]:
                self._complain(f"{name_of(job)}: restarts of {replica_type} fell to {restarts}")
            self._restarts[key] = restarts


def place_of(pod: Object) -> Place | None:
    """The job and the place in it that a pod has; None for a pod without owner."""
    if (owner := owner_of(pod)) is None:
        return None
    labels = pod["metadata"].get("labels", {})
    return owner, labels.get(LABELS[0], ""), labels.get(LABELS[1], "")


def owner_of(obj: Object) -> str | None:
    """Uid of what controls an object."""
    owners = obj["metadata"].get("ownerReferences", ())
    return next((each["uid"] for each in owners if each.get("controller")), None)


def is_live(pod: Object) -> bool:
    """Whether a pod runs or is going to."""
    return pod["status"].get("phase") not in ENDS and "deletionTimestamp" not in pod["metadata"]


def end_of(job: Object) -> list[dict[str, Any]]:
    """The conditions that say that a job has ended; there should be one at most."""
    conditions = job.get("status", {}).get("conditions", ())
    return [each for each in conditions if each["type"] in ENDS and each["status"] == "True"]


def name_of(job: Object) -> str:
    """Kind and name, for messages."""
    return f"{job['kind']} {job['metadata']['namespace']}/{job['metadata']['name']}"
