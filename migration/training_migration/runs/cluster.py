"""One side of a migration on a cluster: its objects created under a label, followed, and removed again."""

from __future__ import annotations

import asyncio
import copy
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from training_api.constants import EXTENSION_PREFIX, JOB_NAME_LABEL
from training_migration.cluster import connected
from training_migration.exits import Exit, Failure
from training_migration.runs.api import CONFLICT, NOT_FOUND, Api, Rejected
from training_migration.runs.ends import end_of_train_job, end_of_v1
from training_migration.runs.pod_logs import PodLogs
from training_migration.runs.record import EndState, Ref, Side
from training_migration.runs.recording import Seen
from training_migration.runs.sightings import Sightings, phase_of, trouble_of

Json = dict[str, Any]
Log = Callable[[str], None]

RUN_LABEL: Final = EXTENSION_PREFIX + "migration-run"
"""On everything that is created: which run it belongs to."""
JOBSET_LABEL: Final = "jobset.sigs.k8s.io/jobset-name"
CLEAN_UP_SECONDS: Final = 60.0
_LOOK_SECONDS: Final = 2.0
_DRAIN_SECONDS: Final = 10.0
_FORBIDDEN: Final = 403


@dataclass(frozen=True, slots=True)
class ClusterOptions:
    """Where a side runs, and for how long."""

    kubeconfig: str
    """Empty: as kubectl finds it."""
    context: str
    """Empty: the current one."""
    namespace: str
    limit: float
    settle: float
    run: str
    """Value of the label."""


class ClusterSide:
    """One side of one job, in one namespace."""

    def __init__(self, side: Side, ref: Ref, containers: dict[str, str], options: ClusterOptions, log: Log) -> None:
        """`containers` are the names of those that train, by role; `log` gets lines for the user."""
        self._options, self._log = options, log
        where = options.context or "cluster"
        self.seen = Seen(side, ref, where, time.time(), containers, witnessed=False)
        self._made: list[Json] = []
        selecting = JOB_NAME_LABEL if side is Side.V1 else JOBSET_LABEL
        self._selector = f"{selecting}={ref.name}"
        self._end_of = end_of_v1 if side is Side.V1 else end_of_train_job

    async def run(self, objects: Sequence[Json]) -> Seen:
        """Create the objects, the last of which is the job, follow it to its end, and remove what was created."""
        async with connected(self._options.kubeconfig, self._options.context) as transport:
            api = Api(transport)
            try:
                await self._begin(api, objects)
                await self._follow(api)
            finally:
                # A second Ctrl-C must not leave half of it behind.
                await asyncio.shield(asyncio.ensure_future(self._clean_up(api)))
        return self.seen

    async def _begin(self, api: Api, objects: Sequence[Json]) -> None:
        *others, job = [self._labelled(each) for each in objects]
        for each in others:
            await self._create(api, each, may_exist=each["kind"] != "TrainingRuntime")
        self.seen.began = time.time()
        try:
            await self._create(api, job, after_runtime=any(each["kind"] == "TrainingRuntime" for each in others))
        except Rejected as rejected:
            self.seen.end, self.seen.ended = EndState.REJECTED, time.time()
            self.seen.reasons.append(str(rejected))

    def _labelled(self, obj: Json) -> Json:
        made = copy.deepcopy(obj)
        metadata = made["metadata"]
        metadata["namespace"] = self._options.namespace
        metadata["labels"] = {**(metadata.get("labels") or {}), RUN_LABEL: self._options.run}
        for field in ("uid", "resourceVersion", "ownerReferences"):
            metadata.pop(field, None)
        return made

    async def _create(self, api: Api, obj: Json, *, may_exist: bool = False, after_runtime: bool = False) -> None:
        """Create one object; raises Failure where the cluster cannot hold it, Rejected where admission will not."""
        what = f"{obj['kind']} {obj['metadata']['name']}"
        try:
            create = api.create_after_runtime if after_runtime else api.create
            self._made.append(await create(obj))
        except Rejected as rejected:
            if rejected.status == CONFLICT and may_exist:
                self.seen.reasons.append(f"{what} was there already and is used as it is")
            elif rejected.status == CONFLICT:
                raise Failure(f"{what} is already in namespace {self._options.namespace}.", Exit.USAGE) from None
            elif rejected.status == NOT_FOUND or _no_right(rejected):
                raise Failure(f"{rejected}.", Exit.ENVIRONMENT) from None
            else:
                raise

    async def _follow(self, api: Api) -> None:
        """Watch the job to its end; records what was seen, also when it is interrupted."""
        logs = PodLogs(api, self.seen.container_of)
        sightings = Sightings(api, self._options.namespace, self._selector, note=self._noting(logs))
        following = asyncio.create_task(sightings.run())
        try:
            if self.seen.ended is None:
                await self._wait(api, sightings)
            with suppress(TimeoutError):
                async with asyncio.timeout(self._options.settle):
                    while sightings.active:
                        await sightings.change(_LOOK_SECONDS)
            await logs.drain(_DRAIN_SECONDS)
            self.seen.events = await self._warnings(api)
        finally:
            following.cancel()
            self.seen.pods, self.seen.gone = dict(sightings.pods), frozenset(sightings.gone)
            self.seen.logs = logs.attempts

    def _noting(self, logs: PodLogs) -> Callable[[Json], None]:
        reported: set[tuple[str, str]] = set()

        def note(pod: Json) -> None:
            logs.note(pod)
            news = pod["metadata"]["name"], phase_of(pod)
            if news not in reported:
                reported.add(news)
                self._log(f"{self.seen.side}: {news[0]} {news[1]}")

        return note

    async def _wait(self, api: Api, sightings: Sightings) -> None:
        ref, job = self.seen.ref, self._made[-1]
        try:
            async with asyncio.timeout(self._options.limit):
                while True:
                    stored = await api.read(job["apiVersion"], ref.kind, self._options.namespace, ref.name)
                    if stored is None:
                        self.seen.reasons.append("the job was deleted by another client")
                        break
                    if end := self._end_of(stored):
                        self.seen.end, reasons = end
                        self.seen.reasons += reasons
                        break
                    await sightings.change(_LOOK_SECONDS)
        except TimeoutError:
            self.seen.end = EndState.TIMED_OUT
            self.seen.reasons.append(f"not ended after {self._options.limit:g} s")
            self.seen.reasons += filter(None, map(trouble_of, sightings.active))
        self.seen.ended = time.time()
        self._log(f"{self.seen.side}: {self.seen.end}")

    async def _warnings(self, api: Api) -> list[Json]:
        """The warnings about objects of this job."""
        name, namespace = self.seen.ref.name, self._options.namespace
        with suppress(Rejected):
            found = await api.listed("v1", "Event", namespace)
            about = [e for e in found if str((e.get("involvedObject") or {}).get("name", "")).startswith(name)]
            return [each for each in about if each.get("type") == "Warning"]
        return []

    async def _clean_up(self, api: Api) -> None:
        """Delete what was created, the job first, and wait until its pods have gone."""
        if not self._made:
            return
        self._log(f"{self.seen.side}: removing what was created")
        for each in reversed(self._made):
            try:
                await api.delete(each)
            except (Rejected, OSError) as error:
                self._log(f"{self.seen.side}: {each['kind']} {each['metadata']['name']} is left behind: {error}")
        if not any(each["kind"] == self.seen.ref.kind for each in self._made):
            return  # pods that have the job's name are another owner's
        with suppress(TimeoutError, Rejected, OSError):
            async with asyncio.timeout(CLEAN_UP_SECONDS):
                # There is nothing to wait for but another look.
                while await api.listed("v1", "Pod", self._options.namespace, self._selector):  # noqa: ASYNC110
                    await asyncio.sleep(_LOOK_SECONDS / 4)


def _no_right(rejected: Rejected) -> bool:
    return rejected.status == _FORBIDDEN and "admission webhook" not in str(rejected)
