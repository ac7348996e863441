"""What becomes of each job on the way to Trainer v2, by `migrate survey`'s own function: computed once, when asked for.

A verdict takes some milliseconds of a processor, so they are made one after the other in a thread, for jobs that a page
shows, and kept until the job is changed. Whoever may see a job is told what is known of it.
"""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any, Final

from training_api.documents import Document
from training_console.model.jobs import TRAIN_JOB, JobRow, resources
from training_console.model.queues import WorkloadRow, workloads
from training_console.reading.cluster import Reader
from training_console.reading.feeds import NoAnswer, NotAllowed
from training_migration.cluster import CLUSTER, clean, is_queued
from training_migration.convert.conversion import Options
from training_migration.report.jobs import BROKEN, job_entry
from training_migration.survey import rows
from training_migration.targets import NEWEST

VERDICTS: Final = ("exact", "equivalent", "needs-work", "impossible", BROKEN)
"""From the least to do to the most."""
MOST_KNOWN: Final = 50_000
PAUSE_JOBS: Final = 20
"""After so many new verdicts the page is told."""
PATIENCE_SECONDS: Final = 0.4
"""For which a page waits, so that one without scripts has verdicts, too."""

Json = dict[str, Any]
Key = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Judged:
    """What `migrate survey` says of one job."""

    verdict: str
    reason: str
    """What stands in the way, in one sentence; empty if nothing does."""


def judged(stored: Json, workload: Json | None) -> Judged:
    """Judge a job as `migrate survey --from-cluster` does."""
    document = Document(CLUSTER, 0, clean(stored, workload))
    entry = job_entry(next(rows([document], Options(NEWEST), Counter())))
    return Judged(entry["verdict"] or BROKEN, entry["reason"])


class Verdicts:
    """What is known of all jobs, and the one thread that finds out more."""

    def __init__(self) -> None:
        self._known: OrderedDict[Key, Judged] = OrderedDict()
        self._turn = asyncio.Lock()

    def of(self, row: JobRow) -> Judged | None:
        """Return the verdict of a job; None if it is not known yet."""
        return self._known.get((row.uid, row.revision))

    def missing(self, wanted: Iterable[JobRow]) -> list[JobRow]:
        """Return those that have no verdict yet and can have one: a TrainJob is there already."""
        return [row for row in wanted if row.kind != TRAIN_JOB and self.of(row) is None]

    async def find(
        self, reader: Reader, wanted: Sequence[JobRow], queues: Mapping[str, WorkloadRow], told: Callable[[], None]
    ) -> None:
        """Judge jobs, when it is one's turn; `told` is called now and then, and at the end."""
        async with self._turn:
            missing = {row.uid: row for row in self.missing(wanted)}
            with suppress(NotAllowed, NoAnswer):
                async for stored in _stored(reader, list(missing.values())):
                    if (row := missing.pop(stored["metadata"]["uid"], None)) is None:
                        continue
                    workload = await _workload(reader, stored, queues.get(row.uid))
                    self._keep((row.uid, row.revision), await asyncio.to_thread(judged, stored, workload))
                    if len(missing) % PAUSE_JOBS == 0:
                        told()
        told()

    def _keep(self, key: Key, verdict: Judged) -> None:
        self._known[key] = verdict
        while len(self._known) > MOST_KNOWN:
            self._known.popitem(last=False)


async def _stored(reader: Reader, wanted: Sequence[JobRow]) -> AsyncIterator[Json]:
    """Yield jobs as they are stored, one at a time: a search that is given up and begun again gets further."""
    paths = {each.kind: each for each in resources()}
    for row in wanted:
        if (stored := await reader.get(paths[row.kind].path(row.namespace, row.name))) is not None:
            yield {"apiVersion": "kubeflow.org/v1", "kind": row.kind, **stored}


async def _workload(reader: Reader, stored: Json, row: WorkloadRow | None) -> Json | None:
    """Kueue's copy of a job that it has admitted: its templates are as they were before."""
    if row is None or row.waits or not is_queued(stored):
        return None
    with suppress(NotAllowed, NoAnswer):
        return await reader.get(workloads().path(row.namespace, row.name))
    return None


class Search:
    """What one open page has asked for."""

    def __init__(self, verdicts: Verdicts, reader: Reader, changed: asyncio.Event) -> None:
        self.verdicts = verdicts
        self.reader, self.changed = reader, changed
        self._task: asyncio.Task[None] | None = None
        self._asked: set[Key] = set()

    async def look(self, wanted: Sequence[JobRow], queues: Mapping[str, WorkloadRow]) -> None:
        """Have jobs judged, and wait for it a moment; what comes later is told to the page."""
        missing = [row for row in self.verdicts.missing(wanted) if (row.uid, row.revision) not in self._asked]
        if missing and (self._task is None or self._task.done()):
            self._asked |= {(row.uid, row.revision) for row in missing}
            self._task = asyncio.create_task(self.verdicts.find(self.reader, missing, queues, self.changed.set))
            await asyncio.wait({self._task}, timeout=PATIENCE_SECONDS)

    async def end(self) -> None:
        """Ask for nothing any more."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task


@asynccontextmanager
async def searching(verdicts: Verdicts, reader: Reader, changed: asyncio.Event) -> AsyncIterator[Search]:
    """Hand out a search that ends with the page."""
    search = Search(verdicts, reader, changed)
    try:
        yield search
    finally:
        await search.end()
