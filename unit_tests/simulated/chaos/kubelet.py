"""A kubelet that runs pods as a scenario says."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import Callable
from datetime import datetime

from e2e.support.simulation.api import Api, Json, Rejected
from e2e.support.simulation.audit import is_duplicate
from e2e.support.simulation.kubelet import Kubelet
from unit_tests.simulated.chaos.scenario import Scenario, Slot

from training_api.constants import JOB_NAME_LABEL, REPLICA_INDEX_LABEL, REPLICA_TYPE_LABEL


class ScriptedKubelet(Kubelet):
    """Pods start, run for a while, and end with the next exit code of their replica."""

    def __init__(self, api: Api, now: Callable[[], datetime], scenario: Scenario) -> None:
        super().__init__(api, now, grace=0.7)
        self._scenario = scenario
        self._ended: Counter[Slot] = Counter()
        self.evicted: set[str] = set()
        """Uids of pods that have failed because they were evicted."""

    async def _live(self, pod: Json) -> None:
        slot, uid = slot_of(pod), pod["metadata"]["uid"]
        if is_duplicate(pod):
            await self._wait_for_place(pod)
        pod = await self._bound(pod)
        await asyncio.sleep(0.5)
        await self._heard_of(pod)
        if uid in self.evicted:
            return
        with contextlib.suppress(Rejected):
            await self.set_status(pod, "Running", {"running": {"startedAt": self._time()}})
        await asyncio.sleep(self._scenario.run_time(slot, self._ended[slot]))
        await self._heard_of(pod)
        if uid in self._leaving | self.evicted:
            return
        exits, attempt = self._scenario.exits.get(slot, []), self._ended[slot]
        code = exits[attempt] if attempt < len(exits) else 0
        ended = {"exitCode": code, "startedAt": self._time(), "finishedAt": self._time()}
        with contextlib.suppress(Rejected):
            stored = await self.set_status(pod, "Failed" if code else "Succeeded", {"terminated": ended})
            if "deletionTimestamp" not in stored["metadata"]:
                self._ended[slot] += 1

    async def _bound(self, pod: Json) -> Json:
        """Put the pod on the node that pods go to now; returns it with its place."""
        node = self.node
        await self._bind(pod)
        return {**pod, "spec": {**pod["spec"], "nodeName": node}}

    async def _wait_for_place(self, duplicate: Json) -> None:
        """A duplicate is run once it is the only pod of its place."""
        own, place = duplicate["metadata"]["uid"], slot_of(duplicate)
        others = [duplicate]
        while others:
            await asyncio.sleep(3)
            pods = await self._api.list("Pod")
            others = [pod for pod in pods if slot_of(pod) == place and pod["metadata"]["uid"] != own]


def slot_of(pod: Json) -> Slot:
    """The place of a pod in its job."""
    labels = pod["metadata"]["labels"]
    return labels[JOB_NAME_LABEL], labels[REPLICA_TYPE_LABEL], int(labels.get(REPLICA_INDEX_LABEL, 0))
