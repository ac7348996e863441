"""Both sides of a migration on an embedded cluster of this machine: v1 by its operator, v2 by its rendered pods.

Needs the extra `local`; nothing else of the package imports `training_local`.
"""

from __future__ import annotations

import asyncio
import copy
import tempfile
import time
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from training_local.apiserver.pods import LogOptions
from training_local.cluster.local_cluster import ClusterOptions, LocalCluster
from training_local.cluster.sandbox_mode import SandboxMode
from training_local.node.log_files import LogLimits, attempts
from training_local.node.logs import LogReader
from training_migration.rendering import Rendering
from training_migration.runs.api import Api, Rejected
from training_migration.runs.ends import end_of_v1
from training_migration.runs.job_ends import State
from training_migration.runs.jobset import COMPANIONS, JobSetPlay
from training_migration.runs.record import EndState, Ref, Side
from training_migration.runs.recording import Seen
from training_migration.runs.sightings import Sightings, phase_of, trouble_of

Json = dict[str, Any]
Log = Callable[[str], None]

LOCAL: Final = "local"
_LOOK_SECONDS: Final = 1.0
_EVERY_ATTEMPT: Final = LogLimits(attempts=1_000_000)
"""The environment of each attempt is compared."""


@dataclass(frozen=True, slots=True)
class LocalOptions:
    """How pods are run on this machine."""

    python: Path | None = None
    """What pods find as `python`; None for the Python that runs this."""
    sandbox: str = "auto"
    gpus: int | None = None
    """How many GPUs to offer, be they there or not."""
    limit: float = 600.0
    """Timeout of a side, in seconds."""
    settle: float = 10.0
    """Seconds to wait for pods that still run when the job has finished."""


class LocalSide:
    """One side of one job, on a cluster of its own."""

    def __init__(self, side: Side, ref: Ref, containers: dict[str, str], options: LocalOptions, log: Log) -> None:
        """`containers` are the names of those that train, by role; `log` gets lines for the user."""
        self._options, self._log = options, log
        self.seen = Seen(side, ref, LOCAL, time.time(), containers, witnessed=False)

    async def run_v1(self, job: Json, others: Sequence[Json]) -> Seen:
        """Run a v1 job by its operator; `others` are the objects that it needs."""
        return await self._run(others, lambda api, sightings: self._v1(api, job, sightings))

    async def run_v2(self, rendering: Rendering, others: Sequence[Json], deadline: float | None = None) -> Seen:
        """Run the pods of a rendering as Job and JobSet would; `deadline` are the TrainJob's seconds."""
        companions = [each for each in rendering.objects if each["kind"] in COMPANIONS]
        objects = [*others, *companions]
        return await self._run(objects, lambda api, sightings: self._v2(api, rendering, sightings, deadline))

    async def _run(self, objects: Sequence[Json], play: Callable[[Api, Sightings], Coroutine[Any, Any, None]]) -> Seen:
        options = self._options
        with tempfile.TemporaryDirectory(prefix="migrate-run-") as data:
            cluster_options = ClusterOptions(
                options.python,
                SandboxMode(options.sandbox),
                data=Path(data),
                gpus=options.gpus,
                log_limits=_EVERY_ATTEMPT,
            )
            async with LocalCluster(cluster_options) as cluster:
                api = Api(cluster.transport)
                sightings = Sightings(api, self.seen.ref.namespace, note=self._progress())
                await self._prepare(api, objects)
                following = asyncio.create_task(sightings.run())
                try:
                    self.seen.began = time.time()
                    await self._play(play(api, sightings), sightings)
                    await self._settle(sightings)
                finally:
                    following.cancel()
                self.seen.pods, self.seen.gone = dict(sightings.pods), frozenset(sightings.gone)
                self.seen.events = await self._warnings(api)
            # After the end of the cluster: the last lines of all pods are on the disk.
            self.seen.logs = {uid: await self._attempts(Path(data), pod) for uid, pod in sightings.pods.items()}
        return self.seen

    async def _prepare(self, api: Api, objects: Sequence[Json]) -> None:
        """Create the namespace and what the pods need; owners that are not there are forgotten."""
        namespace = self.seen.ref.namespace
        if namespace != "default":
            await api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
        for each in objects:
            made = copy.deepcopy(each)
            made["metadata"].pop("ownerReferences", None)
            made["metadata"].setdefault("namespace", namespace)
            try:
                await api.create(made)
            except Rejected as rejected:
                self.seen.reasons.append(str(rejected))

    async def _play(self, play: Coroutine[Any, Any, None], sightings: Sightings) -> None:
        try:
            async with asyncio.timeout(self._options.limit):
                await play
        except TimeoutError:
            self.seen.end = EndState.TIMED_OUT
            self.seen.reasons.append(f"not ended after {self._options.limit:g} s")
            self.seen.reasons += filter(None, map(trouble_of, sightings.active))
        except Rejected as rejected:
            self.seen.end = EndState.REJECTED
            self.seen.reasons.append(str(rejected))
        self.seen.ended = time.time()
        self._log(f"{self.seen.side}: {self.seen.end}")

    async def _v1(self, api: Api, job: Json, sightings: Sightings) -> None:
        stored = await api.create(job)
        metadata = stored["metadata"]
        while True:
            stored = await api.read(job["apiVersion"], job["kind"], metadata["namespace"], metadata["name"]) or {}
            if end := end_of_v1(stored):
                self.seen.end, reasons = end
                self.seen.reasons += reasons
                return
            await sightings.change(_LOOK_SECONDS)

    async def _v2(self, api: Api, rendering: Rendering, sightings: Sightings, deadline: float | None) -> None:
        try:
            async with asyncio.timeout(deadline):
                end = await JobSetPlay(api, rendering, sightings).run()
        except TimeoutError:
            self.seen.end = EndState.FAILED
            self.seen.reasons.append("DeadlineExceeded: TrainJob exceeded its active deadline")
            return
        self.seen.end = EndState.SUCCEEDED if end.state is State.COMPLETE else EndState.FAILED
        self.seen.reasons.append(f"{end.reason}: {end.message}")

    async def _settle(self, sightings: Sightings) -> None:
        """Wait until no pod runs that is on its way to an end, within limits."""
        try:
            async with asyncio.timeout(self._options.settle):
                while sightings.active:
                    await sightings.change(_LOOK_SECONDS)
        except TimeoutError:
            pass

    def _progress(self) -> Callable[[Json], None]:
        reported: set[tuple[str, str]] = set()

        def note(pod: Json) -> None:
            news = pod["metadata"]["name"], phase_of(pod)
            if news not in reported:
                reported.add(news)
                self._log(f"{self.seen.side}: {news[0]} {news[1]}")

        return note

    async def _warnings(self, api: Api) -> list[Json]:
        return [e for e in await api.listed("v1", "Event", self.seen.ref.namespace) if e.get("type") == "Warning"]

    async def _attempts(self, data: Path, pod: Json) -> list[list[str]]:
        metadata, container = pod["metadata"], self.seen.container_of(pod)
        folder = data / "logs" / f"{metadata['namespace']}_{metadata['name']}_{metadata['uid']}" / container
        return [await _lines(folder, attempt, container) for attempt in attempts(folder)]


async def _lines(folder: Path, attempt: int, container: str) -> list[str]:
    batches = LogReader(folder, attempt, None).read(LogOptions(container))
    return [line.decode(errors="replace").rstrip("\n") async for batch in batches for line in batch]
