"""A gang scheduler that takes its rules more seriously than any real one, and a kubelet that waits for it."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from e2e.support.simulation.api import Api, Json, Rejected
from e2e.support.simulation.audit import JOBS, is_duplicate, is_live
from e2e.support.simulation.cluster import Cluster
from unit_tests.simulated.chaos.kubelet import ScriptedKubelet
from unit_tests.simulated.chaos.scenario import Scenario

from training_local.apiserver.storage import Change, StoreKey

GROUP_NAME = "scheduling.k8s.io/group-name"
OUTSIDE = ("", "Pending")
PHASES = (*OUTSIDE, "Inqueue", "Running", "Unknown", "Completed")


class StrictVolcano:
    """Lets a gang in that has no pods yet, or enough of them; one that has lost pods is out until they are back.

    Whoever creates pods only for a gang that is in (as v1 does) waits for it indefinitely, and it waits for them.
    """

    def __init__(self, api: Api, rng: random.Random) -> None:
        self._api = api
        self._rng = rng
        self.mood = 0.0
        """How likely it is that a PodGroup gets any phase at all, or is deleted by another client."""

    async def run(self) -> None:
        while True:
            await asyncio.sleep(self._rng.uniform(0.2, 2))
            pods = await self._api.list("Pod")
            for group in await self._api.list("PodGroup"):
                with contextlib.suppress(Rejected):
                    await self._look(group, pods)

    async def _look(self, group: Json, pods: Sequence[Json]) -> None:
        name, before = group["metadata"]["name"], phase_of(group)
        phase = self._next(group, members(group, pods))
        if self._rng.random() < self.mood:
            phase = self._rng.choice(PHASES)
            if self._rng.random() < 0.3:
                await self._api.delete("PodGroup", name)
                return
        if phase != before:
            await self._api.send("PUT", self._api.path("PodGroup", name), {**group, "status": {"phase": phase}})

    def _next(self, group: Json, pods: Sequence[Json]) -> str:
        phase = phase_of(group)
        if phase == "":
            return "Pending"
        enough = len(pods) >= group["spec"]["minMember"]
        if phase == "Pending":
            return "Inqueue" if enough or not any(map(is_live, pods)) else phase
        return phase if enough or not pods else "Pending"


class GangKubelet(ScriptedKubelet):
    """Runs the pods of a gang when it is in and enough of them are there."""

    def __init__(self, api: Api, now: Callable[[], datetime], scenario: Scenario) -> None:
        super().__init__(api, now, scenario)

    async def _live(self, pod: Json) -> None:
        if is_duplicate(pod) or await self._placed(pod):
            await super()._live(pod)

    async def _placed(self, pod: Json) -> bool:
        """Wait for the gang; whether the pod is still there when its time comes."""
        name = pod["metadata"].get("annotations", {}).get(GROUP_NAME)
        assert name is not None, f"{pod['metadata']['name']} belongs to no gang"
        while True:
            pods = await self._api.list("Pod")
            if pod["metadata"]["uid"] not in {each["metadata"]["uid"] for each in pods}:
                return False
            group = await self._api.get("PodGroup", name)
            if group is not None and _is_in(group, pods):
                return True
            await asyncio.sleep(0.5)


class GangAudit:
    """Complains of pods that are created before their gang has been let in."""

    def __init__(self, world: Cluster) -> None:
        self._complaints = world.audit.complaints
        self._let_in: set[str] = set()
        """Jobs whose gang has been let in since they were suspended last."""
        self._inside: set[str] = set()
        """Those that have a PodGroup which is in now; it may have outlived the suspension."""
        self._live: dict[str, set[str]] = {}
        world.server.state.storage.observers.append(self._observe)

    def _observe(self, key: StoreKey, change: Change) -> None:
        obj: Any = change.new_object
        if key[1] == "podgroups":
            self._inside.discard(owner_of(obj))
            if change.type != "DELETED" and phase_of(obj) not in OUTSIDE:
                self._let_in.add(owner_of(obj))
                self._inside.add(owner_of(obj))
        elif key[1] in JOBS:
            conditions = obj.get("status", {}).get("conditions", [])
            if any((c["type"], c["status"]) == ("Suspended", "True") for c in conditions):
                self._let_in.discard(obj["metadata"]["uid"])
        elif key[1] == "pods":
            self._saw_pod(change.type, obj)

    def _saw_pod(self, event: str, pod: Json) -> None:
        job, uid = owner_of(pod), pod["metadata"]["uid"]
        living = self._live.setdefault(job, set())
        if event == "ADDED" and not living and not is_duplicate(pod) and job not in self._let_in | self._inside:
            self._complaints.append(f"{pod['metadata']['name']} was created before its gang was let in")
        living.discard(uid)
        if event != "DELETED" and is_live(pod):
            living.add(uid)


def _is_in(group: Json, pods: Sequence[Json]) -> bool:
    return phase_of(group) not in OUTSIDE and len(members(group, pods)) >= group["spec"]["minMember"]


def phase_of(group: Json) -> str:
    """The phase that the scheduler has given to a PodGroup."""
    return str(group.get("status", {}).get("phase", ""))


def members(group: Json, pods: Sequence[Json]) -> list[Json]:
    """The pods that count: neither failed nor on their way out."""
    own = [pod for pod in pods if pod["metadata"].get("annotations", {}).get(GROUP_NAME) == group["metadata"]["name"]]
    return [
        pod
        for pod in own
        if pod.get("status", {}).get("phase") != "Failed" and "deletionTimestamp" not in pod["metadata"]
    ]


def owner_of(obj: Json) -> str:
    """Uid of the job that controls an object, empty if none does."""
    return str(next((o["uid"] for o in obj["metadata"].get("ownerReferences", []) if o.get("controller")), ""))
