"""Plays the controllers of Job and JobSet for one TrainJob on a cluster that has neither: makes the rendered pods."""

from __future__ import annotations

import asyncio
import copy
from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

from training_migration.rendering import RenderedPod, Rendering
from training_migration.runs.api import Api
from training_migration.runs.job_ends import JobEnd, PodSeen, SetEnd, State, job_end, set_end
from training_migration.runs.sightings import INDEX_LABEL, ROLE_LABEL, Sightings, phase_of, place_of, seen

Json = dict[str, Any]

COMPANIONS: Final = ("ConfigMap", "Secret", "Service", "PersistentVolumeClaim", "ServiceAccount", "Role", "RoleBinding")
"""What a rendering has that a cluster without v2 can hold; the rest is played here."""
REPLACEMENT_SECONDS: Final = 1.0
"""Until a failed pod is replaced; on a cluster it is 10 s and doubles."""
_LOOK_SECONDS: Final = 5.0


class JobSetPlay:
    """One JobSet from its first pod to its end."""

    def __init__(
        self, api: Api, rendering: Rendering, sightings: Sightings, pause: float = REPLACEMENT_SECONDS
    ) -> None:
        """`rendering` is what the controllers would make; `sightings` must be followed while this runs.

        `pause` are the seconds until a failed pod is replaced.
        """
        self._pause = pause
        self._api, self._sightings = api, sightings
        self._spec: Json = next(each["spec"] for each in rendering.objects if each["kind"] == "JobSet")
        self._jobs = {each["name"]: each["template"]["spec"] for each in self._spec["replicatedJobs"]}
        self._pods: dict[str, list[RenderedPod]] = {}
        for pod in rendering.pods:
            self._pods.setdefault(pod.role, []).append(pod)
        self._started: set[str] = set()
        self._made: Counter[tuple[str, int]] = Counter()
        self._earlier: set[str] = set()
        """Uids of the pods of earlier attempts of the whole set."""
        self._restarts = 0

    async def run(self) -> SetEnd:
        """Make pods until the set has ended; then delete those that still run, as JobSet does."""
        while True:
            verdicts = self._verdicts()
            decision = set_end(self._spec, verdicts, self._ready(), self._restarts)
            if decision.state is not State.ACTIVE:
                await self._delete(self._sightings.active)
                return decision
            if decision.again:
                await self._begin_again()
                continue
            for role in decision.start:
                self._started.add(role)
                for pod in self._pods.get(role, ()):
                    await self._make(pod)
            await self._replace(verdicts)
            await self._sightings.change(_LOOK_SECONDS)

    def _seen(self, role: str) -> list[PodSeen]:
        found = []
        for uid, pod in self._sightings.pods.items():
            place = place_of(pod)
            if place and place[0] == role and uid not in self._earlier and not self._lost(uid, pod):
                found.append(seen(pod, place[1]))
        # What has been created is there, though the watch may not show it yet.
        unseen = Counter({index: n for (name, index), n in self._made.items() if name == role})
        unseen -= Counter(place_of(pod)[1] for uid, pod in self._of(role))  # type: ignore[index] # those of a role
        return [*found, *(PodSeen(index, "Pending") for index in unseen.elements())]

    def _of(self, role: str) -> Sequence[tuple[str, Json]]:
        pods = self._sightings.pods.items()
        return [(uid, pod) for uid, pod in pods if (place := place_of(pod)) and place[0] == role]

    def _lost(self, uid: str, pod: Json) -> bool:
        """Whether it was deleted from outside before it had ended."""
        return uid in self._sightings.gone and phase_of(pod) not in ("Succeeded", "Failed")

    def _verdicts(self) -> dict[str, JobEnd]:
        return {role: job_end(self._job(role), self._seen(role)) for role in self._started}

    def _job(self, role: str) -> Json:
        # Of several Jobs of one replicated job this sees one; Trainer allows one where it trains.
        return {**self._jobs[role], "completions": len(self._pods.get(role, ()))}

    def _ready(self) -> dict[str, bool]:
        ready = {}
        for role in self._started:
            pods = {pod.index: pod for pod in self._seen(role)}.values()
            ready[role] = bool(pods) and all(pod.ready or pod.phase == "Succeeded" for pod in pods)
        return ready

    async def _replace(self, verdicts: dict[str, JobEnd]) -> None:
        missing = [(role, index) for role, verdict in verdicts.items() for index in verdict.missing]
        if missing:
            await asyncio.sleep(self._pause)
        for role, index in missing:
            await self._make(next(pod for pod in self._pods[role] if pod.index == index))

    async def _make(self, pod: RenderedPod) -> None:
        self._made[pod.role, pod.index] += 1
        await self._api.create(playable(pod, self._made[pod.role, pod.index]))

    async def _begin_again(self) -> None:
        self._restarts += 1
        await self._delete(self._sightings.present)
        self._earlier = set(self._sightings.pods)
        self._started.clear()

    async def _delete(self, pods: Sequence[Json]) -> None:
        for pod in pods:
            await self._api.delete({"apiVersion": "v1", "kind": "Pod", **pod})


def playable(pod: RenderedPod, life: int) -> Json:
    """The pod as it can be created without its controllers; `life` counts the pods of its place from 1."""
    made = copy.deepcopy(pod.pod)
    metadata = made["metadata"]
    # Owners that are not there would have it collected as garbage.
    for field in ("ownerReferences", "uid", "generateName", "finalizers"):
        metadata.pop(field, None)
    metadata["name"] = f"{metadata['name']}{'' if life == 1 else f'-{life}'}"
    metadata["labels"] = {**(metadata.get("labels") or {}), ROLE_LABEL: pod.role, INDEX_LABEL: str(pod.index)}
    return {"apiVersion": "v1", "kind": "Pod", **made}
