"""The table of all jobs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, Final

from training_console.model.filters import SORTS, Filters
from training_console.model.jobs import JobRow, counted, resources
from training_console.model.queues import WorkloadRow, workloads
from training_console.pages.html import Macros
from training_console.pages.page import Fragments
from training_console.reading.cluster import Reader
from training_console.reading.feeds import Feed, NotAllowed
from training_operator.kube.resources import Resource

MOST_CHOICES: Final = 500
"""Namespaces, kinds, states or owners that a filter offers."""


@asynccontextmanager
async def job_feeds(
    reader: Reader, namespace: str, changed: asyncio.Event
) -> AsyncIterator[tuple[list[Feed[JobRow]], Feed[WorkloadRow]]]:
    """Hand out the jobs of all kinds that may be read, and Kueue's workloads.

    Raises `NotAllowed` if no kind may be read.
    """
    async with AsyncExitStack() as stack:
        refused: list[NotAllowed] = []

        async def opened(resource: Resource[JobRow]) -> Feed[JobRow] | None:
            try:
                return await stack.enter_async_context(reader.feeds.open(resource, namespace))
            except NotAllowed as error:
                refused.append(error)
                return None

        found = await asyncio.gather(*map(opened, resources()))
        feeds = [feed for feed in found if feed is not None]
        if refused and all(feed.absent for feed in feeds):
            raise refused[0]
        queues = await stack.enter_async_context(reader.feeds.open(workloads(), namespace, required=False))
        watched: list[Feed[Any]] = [*feeds, queues]
        for feed in watched:
            stack.enter_context(feed.listened(changed))
        yield feeds, queues


class Rows:
    """Rows as HTML, made once for each version of a job."""

    def __init__(self, macros: Macros) -> None:
        self.macros = macros
        self._made: dict[str, tuple[tuple[str, str], str]] = {}

    def of(self, row: JobRow, workload: WorkloadRow | None) -> str:
        """Return the row of a job."""
        version = row.version, workload.version if workload else ""
        known = self._made.get(row.uid)
        if known is None or known[0] != version:
            known = version, self.macros("job_row", row, workload)
            self._made[row.uid] = known
        return known[1]

    def forget(self, uids: set[str]) -> None:
        """Keep the rows of these jobs only."""
        for uid in self._made.keys() - uids:
            del self._made[uid]


class JobsPage:
    """All jobs that the viewer may read, narrowed by the address."""

    template = "jobs.html"
    every = 0.0

    def __init__(
        self,
        filters: Filters,
        feeds: tuple[list[Feed[JobRow]], Feed[WorkloadRow]],
        changed: asyncio.Event,
        rows: Rows,
    ) -> None:
        self.filters, self.changed = filters, changed
        self._rows, self._macros = rows, rows.macros
        self._feeds, self._queues = feeds
        self._all: list[JobRow] = []
        self._fragments: dict[str, str] = {}

    async def fragments(self) -> Fragments:
        """Return counts, complaints and one row per job."""
        self._all = [row for feed in self._feeds for row in feed.store]
        shown = self.filters.apply(self._all)
        by_owner = {each.owner.uid: each for each in self._queues.store if each.owner}
        feeds: list[Feed[Any]] = [*self._feeds, self._queues]
        complaints = sorted({feed.complaint for feed in feeds if feed.complaint})
        rows = {row.id: self._rows.of(row, by_owner.get(row.uid)) for row in shown[: self.filters.rows]}
        self._rows.forget({row.uid for row in self._all})
        of_all_states = counted(self.filters.with_state("").apply(self._all))
        self._fragments = {
            "counts": self._macros("counts", of_all_states, self.filters, len(shown)),
            "complaints": self._macros("complaints", complaints),
            **rows,
            "more": self._macros("more", self.filters.more, len(shown) - len(rows)),
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
