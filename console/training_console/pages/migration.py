"""What becomes of all jobs on the way to Trainer v2."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from training_console.model.filters import Filters
from training_console.model.jobs import TRAIN_JOB
from training_console.pages.html import Macros
from training_console.pages.jobs import JobFeeds, by_owner
from training_console.pages.page import Fragments
from training_console.reading.verdicts import VERDICTS, Search
from training_migration.targets import NEWEST


class MigrationPage:
    """The verdict of each job, those with the most to do first."""

    template = "migration.html"
    every = 0.0

    def __init__(self, filters: Filters, feeds: JobFeeds, search: Search, macros: Macros) -> None:
        self.filters, self.changed = filters, search.changed
        self._feeds, self._queues = feeds
        self._search, self._macros = search, macros
        self._fragments: dict[str, str] = {}

    async def fragments(self) -> Fragments:
        """Return how many jobs have each verdict, and one row per job that has one."""
        jobs = [row for feed in self._feeds for row in feed.store if row.kind != TRAIN_JOB]
        jobs = self.filters.apply(jobs)
        await self._search.look(jobs, by_owner(self._queues))
        judged = [(row, verdict) for row in jobs if (verdict := self._search.verdicts.of(row)) is not None]
        counts = Counter(verdict.verdict for _, verdict in judged)
        judged = [each for each in judged if self.filters.verdict in ("", each[1].verdict)]
        judged.sort(key=lambda each: (-VERDICTS.index(each[1].verdict), each[0].namespace, each[0].name))
        shown = judged[: self.filters.rows]
        counted = {name: counts[name] for name in reversed(VERDICTS) if counts[name]}
        self._fragments = {
            "verdicts": self._macros("verdicts", counted, self.filters, len(jobs)),
            **{f"m-{row.id}": self._macros("migration_row", row, verdict) for row, verdict in shown},
            "more": self._macros("more", self.filters.more, len(judged) - len(shown)),
        }
        return self._fragments

    def context(self) -> Mapping[str, Any]:
        """Return the rows of the table."""
        rows = [html for name, html in self._fragments.items() if name.startswith("m-")]
        return {"filters": self.filters, "rows": rows, "target": NEWEST.value}
