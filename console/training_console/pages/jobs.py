"""The table of all jobs."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final

from training_console.model.filters import SORTS, Filters
from training_console.model.jobs import JobRow, counted, resources
from training_console.model.queues import Position, WorkloadRow, workloads
from training_console.model.training import Training
from training_console.pages.html import Macros
from training_console.pages.page import Fragments
from training_console.reading.cluster import Reader
from training_console.reading.feeds import Feed, NotAllowed
from training_console.reading.verdicts import Judged, Search
from training_operator.kube.resources import Resource

MOST_CHOICES: Final = 500
"""Namespaces, kinds, states or owners that a filter offers."""
MOST_MADE: Final = 5_000
"""Rows that are kept as HTML."""
PATIENCE_SECONDS: Final = 0.5
"""For the first lists; a page that comes before them says so, and is asked for again."""


JobFeeds = tuple[list[Feed[JobRow]], Feed[WorkloadRow]]
"""The jobs, by kind, and Kueue's workloads."""


@asynccontextmanager
async def job_feeds(reader: Reader, namespace: str, changed: asyncio.Event) -> AsyncIterator[JobFeeds]:
    """Hand out the jobs of all kinds that may be read, and Kueue's workloads; their first lists may still be coming.

    Raises `NotAllowed` if no kind may be read, and `NoAnswer`.
    """
    async with AsyncExitStack() as stack:
        denied: list[NotAllowed] = []

        async def opened(resource: Resource[JobRow]) -> Feed[JobRow] | None:
            feed = reader.feeds.open(resource, namespace, patience=PATIENCE_SECONDS)
            try:
                return await stack.enter_async_context(feed)
            except NotAllowed as error:
                denied.append(error)
                return None

        found = await asyncio.gather(*map(opened, resources()))
        feeds = [feed for feed in found if feed is not None]
        if denied and all(feed.absent for feed in feeds):
            raise denied[0]
        queue_feed = reader.feeds.open(workloads(), namespace, required=False, patience=PATIENCE_SECONDS)
        queues = await stack.enter_async_context(queue_feed)
        watched: list[Feed[Any]] = [*feeds, queues]
        for feed in watched:
            stack.enter_context(feed.listened(changed))
        yield feeds, queues


def all_of(feeds: JobFeeds) -> list[Feed[Any]]:
    """Return the feeds of jobs and of workloads."""
    jobs, queues = feeds
    return [*jobs, queues]


def complaints(feeds: JobFeeds) -> list[str]:
    """Return why what is shown is not current, or not whole."""
    return sorted({feed.complaint for feed in all_of(feeds) if feed.complaint})


def by_owner(queues: Feed[WorkloadRow]) -> dict[str, WorkloadRow]:
    """Return the workloads by the uid of their job."""
    return {each.owner.uid: each for each in queues.store if each.owner}


@dataclass(frozen=True, slots=True)
class Known:
    """What the table says of a job next to what its own object does."""

    workload: WorkloadRow | None = None
    position: Position | None = None
    training: Training | None = None
    judged: Judged | None = None
    migration: bool = False
    """Whether there is a column for the verdict."""


class Rows:
    """Rows as HTML, made once for all that is known of a job."""

    def __init__(self, macros: Macros) -> None:
        self.macros = macros
        self._made: OrderedDict[tuple[str, bool], tuple[tuple[object, ...], str]] = OrderedDict()

    def of(self, row: JobRow, known: Known) -> str:
        """Return the row of a job."""
        key = row.uid, known.migration
        version = row.version, known
        made = self._made.get(key)
        if made is None or made[0] != version:
            made = version, self.macros("job_row", row, known)
        self._made[key] = made
        self._made.move_to_end(key)
        if len(self._made) > MOST_MADE:
            self._made.popitem(last=False)
        return made[1]


class JobsPage:
    """All jobs that the viewer may read, narrowed by the address."""

    template = "jobs.html"
    every = 0.0

    def __init__(self, filters: Filters, feeds: JobFeeds, search: Search, rows: Rows) -> None:
        self.filters, self.changed = filters, search.changed
        self._reader, self._search = search.reader, search
        self._rows, self._macros = rows, rows.macros
        self._feeds, self._queues = feeds
        self._all: list[JobRow] = []
        self._fragments: dict[str, str] = {}

    async def fragments(self) -> Fragments:
        """Return counts, complaints and one row per job."""
        self._all = [row for feed in self._feeds for row in feed.store]
        found = self.filters.apply(self._all)
        shown = found[: self.filters.rows]
        workloads = by_owner(self._queues)
        positions = await self._reader.positions.of(self._queues.store)
        if self.filters.migration:
            await self._search.look(shown, workloads)

        def known(row: JobRow) -> Known:
            workload = workloads.get(row.uid)
            return Known(
                workload,
                positions.get(workload.uid) if workload else None,
                row.training or self._reader.training.of(row.uid),
                self._search.verdicts.of(row) if self.filters.migration else None,
                self.filters.migration,
            )

        of_all_states = counted(self.filters.with_state("").apply(self._all))
        self._fragments = {
            "counts": self._macros("counts", of_all_states, self.filters, len(found), len(self._all)),
            "complaints": self._macros("complaints", complaints((self._feeds, self._queues))),
            **{row.id: self._rows.of(row, known(row)) for row in shown},
            "more": self._macros("more", self.filters.more, len(found) - len(shown)),
        }
        return self._fragments

    def context(self) -> Mapping[str, Any]:
        """Return the choices of the filters."""
        return {
            "filters": self.filters,
            "sorts": SORTS,
            "namespaces": _choices(row.namespace for row in self._all),
            "kinds": _choices(row.kind for row in self._all),
            "states": list(counted(self._all)),
            "owners": _choices(row.belongs_to for row in self._all),
            "rows": [html for name, html in self._fragments.items() if name.startswith("job-")],
        }


def _choices(values: Any) -> list[str]:
    return sorted({value for value in values if value})[:MOST_CHOICES]
