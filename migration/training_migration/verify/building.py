"""What a cluster's controllers build of a TrainJob: created, awaited, read, and deleted again."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from training_api.constants import EXTENSION_PREFIX
from training_migration.runs.api import NOT_FOUND, Api, Rejected
from training_migration.v2.names import JOBSET_API, JOBSET_LABEL

Json = dict[str, Any]

OURS: Final = EXTENSION_PREFIX + "migration-verify"
"""Label of what is created here, and by which run."""
POLL: Final = 0.3
"""Seconds between two looks."""
_FORBIDDEN: Final = 403
_KNOWN_BY_OWNER: Final = (
    ("v1", "Service"),
    ("v1", "ConfigMap"),
    ("v1", "Secret"),
    ("v1", "PersistentVolumeClaim"),
    ("scheduling.x-k8s.io/v1alpha1", "PodGroup"),
    ("scheduling.volcano.sh/v1beta1", "PodGroup"),
)
"""Kinds whose objects bear no label of the JobSet."""
_STRAGGLERS: Final = 10.0
"""Seconds that other objects have after Jobs and pods are complete."""
_COMPLAINTS: Final = ("TrainJobResourcesCreationFailed", "JobCreationFailed")
"""Reasons of events of a TrainJob and of a JobSet; other failures of theirs pass."""
_FOR_GOOD: Final = ("denied the request", "is invalid", "duplicate entries")
"""What the message of such an event has in it unless a next attempt may succeed."""


@dataclass(slots=True)
class Built:
    """What the controllers have made so far."""

    objects: list[Json] = field(default_factory=list)
    complaint: str = ""
    """Why a controller makes no more."""
    hidden: list[str] = field(default_factory=list)
    """Kinds that may not be listed."""
    complete: bool = False
    """Whether there are all Jobs and pods."""


@asynccontextmanager
async def created(api: Api, objects: Sequence[Json], mark: str) -> AsyncIterator[Json]:
    """Create the objects, the last one a TrainJob, hand that out as stored, and delete them all. Raises Rejected."""
    marked = [_marked(each, mark) for each in objects]
    try:
        *others, train_job = marked
        for each in others:
            await api.create(each, strict=True)
        yield await (api.create_after_runtime if others else api.create)(train_job, strict=True)
    finally:
        for each in reversed(marked):
            await _delete(api, each, mark)


async def dry_run(api: Api, objects: Iterable[Json]) -> None:
    """Let admission check the objects without storing any; raises Rejected."""
    for each in objects:
        await api.create(each, dry_run=True)


def _marked(obj: Json, mark: str) -> Json:
    metadata = obj["metadata"]
    return {**obj, "metadata": {**metadata, "labels": {**(metadata.get("labels") or {}), OURS: mark}}}


async def _delete(api: Api, obj: Json, mark: str) -> None:
    """Delete an object if it was created by us, whether the answer has arrived or not."""
    metadata = obj["metadata"]
    found = await api.read(obj["apiVersion"], obj["kind"], metadata["namespace"], metadata["name"])
    if found is not None and (found["metadata"].get("labels") or {}).get(OURS) == mark:
        await api.delete({"apiVersion": obj["apiVersion"], "kind": obj["kind"], **found})


async def built(api: Api, train_job: Json, wanted: Sequence[Json], limit: float) -> Built:
    """What is made of a stored TrainJob within `limit` seconds, pods too unless it is suspended.

    Returns when all Jobs and pods are there that the JobSet asks for; the controllers write objects in random order, so
    then there is a moment left for what else is `wanted`.
    """
    give_up = time.monotonic() + limit
    names = {(each["kind"], each["metadata"]["name"]) for each in wanted if each["kind"] != "Pod"}
    as_created: dict[str, Json] = {}
    while True:
        found = await _Look(api, train_job).taken()
        for each in found.objects:
            as_created.setdefault(each["metadata"]["uid"], each)
        if found.complete:
            give_up = min(give_up, time.monotonic() + _STRAGGLERS)
        there = {(each["kind"], each["metadata"]["name"]) for each in found.objects}
        if (found.complete and names <= there) or found.complaint or time.monotonic() > give_up:
            # As they were at first: what becomes of pods later is not their builders' doing.
            found.objects = list(as_created.values())
            return found
        await asyncio.sleep(POLL)


async def gone(api: Api, namespace: str, name: str, limit: float) -> None:
    """Wait until there is no JobSet of this name any more, so that what it had made is going too; not forever."""
    give_up = time.monotonic() + limit
    while await api.read(JOBSET_API, "JobSet", namespace, name) and time.monotonic() < give_up:  # noqa: ASYNC110 - no event
        await asyncio.sleep(POLL)


class _Look:
    """One look at what there is of a TrainJob in its namespace."""

    def __init__(self, api: Api, train_job: Json) -> None:
        self._api = api
        self._name = train_job["metadata"]["name"]
        self._namespace = train_job["metadata"]["namespace"]
        self._owners = {train_job["metadata"]["uid"]}
        self._found = Built()

    async def taken(self) -> Built:
        """What there is; other objects than JobSet, Jobs and pods only once those are complete."""
        found = self._found
        jobset = await self._api.read(JOBSET_API, "JobSet", self._namespace, self._name)
        if jobset is not None:
            self._owners.add(jobset["metadata"]["uid"])
            selector = f"{JOBSET_LABEL}jobset-uid={jobset['metadata']['uid']}"
            jobs = await self._listed("batch/v1", "Job", selector)
            pods = await self._listed("v1", "Pod", selector)
            found.complete = _is_complete(jobset["spec"], jobs, pods)
            found.objects = [{"apiVersion": JOBSET_API, "kind": "JobSet", **jobset}, *jobs, *pods]
        if found.complete:
            for version, kind in _KNOWN_BY_OWNER:
                every = await self._listed(version, kind)
                found.objects += [each for each in every if self._owners & _owners(each)]
        else:
            found.complaint = await self._complaint()
        return found

    async def _listed(self, version: str, kind: str, selector: str = "") -> list[Json]:
        """Objects of a kind; none of one that the cluster does not have or does not show."""
        try:
            items = await self._api.listed(version, kind, self._namespace, selector)
        except Rejected as rejected:
            if rejected.status == _FORBIDDEN:
                self._found.hidden.append(kind)
            elif rejected.status != NOT_FOUND:
                raise
            return []
        return [{"apiVersion": version, "kind": kind, **each} for each in items]

    async def _complaint(self) -> str:
        """What an event of the TrainJob or of its JobSet says that stops their controllers for good."""
        events = await self._listed("v1", "Event")
        messages = (
            str(each.get("message") or "")
            for each in events
            if each["involvedObject"].get("uid") in self._owners and each.get("reason") in _COMPLAINTS
        )
        return next((text for text in messages if any(each in text for each in _FOR_GOOD)), "")


def _is_complete(spec: Json, jobs: Sequence[Json], pods: Sequence[Json]) -> bool:
    """Whether a JobSet has its Jobs, and they their pods; a suspended one has neither pods nor Jobs that wait."""
    suspended = bool(spec.get("suspend"))
    wanted = sum(each["replicas"] for each in spec["replicatedJobs"] if not (suspended and each.get("dependsOn")))
    return len(jobs) >= wanted and (suspended or len(pods) >= sum(each["spec"]["parallelism"] for each in jobs))


def _owners(obj: Json) -> set[str]:
    return {each["uid"] for each in obj["metadata"].get("ownerReferences") or ()}
