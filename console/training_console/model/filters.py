"""Which jobs a page shows, as its address says; no effects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Final
from urllib.parse import urlencode

from training_console.model.jobs import JobRow, by_attention

LONGEST: Final = 253
"""Characters of one filter."""
ROWS: Final = 200
"""That a page begins with, and that are added as one scrolls."""
MOST_ROWS: Final = 10_000
TEXTS: Final = ("namespace", "kind", "state", "owner", "text", "verdict")
SORTS: Final = ("attention", "newest", "name")


@dataclass(frozen=True, slots=True)
class Filters:
    """What the table is narrowed to; an empty field lets everything through."""

    namespace: str = ""
    kind: str = ""
    state: str = ""
    owner: str = ""
    text: str = ""
    verdict: str = ""
    """Of `migrate survey`; on the page of all verdicts only."""
    migration: bool = False
    """Whether the table of jobs has that as a column."""
    sort: str = SORTS[0]
    rows: int = ROWS
    """How many are shown."""

    @classmethod
    def read(cls, query: Mapping[str, str]) -> Filters:
        """Read the query of an address; what it says beyond is ignored."""
        known = {each: query[each].strip()[:LONGEST] for each in TEXTS if each in query}
        rows = query.get("rows", "")
        sort = query.get("sort", "")
        return cls(
            **known,
            migration="migration" in query,
            sort=sort if sort in SORTS else SORTS[0],
            rows=min(max(int(rows), ROWS), MOST_ROWS) if rows.isdecimal() and len(rows) < 6 else ROWS,
        )

    @property
    def more(self) -> Filters:
        """The same with more rows."""
        return replace(self, rows=min(self.rows + ROWS, MOST_ROWS))

    @property
    def query(self) -> str:
        """As the query of an address."""
        told = {name: value for name, value in asdict(self).items() if value != getattr(Filters(), name)}
        return urlencode({name: "on" if value is True else value for name, value in told.items()})

    def with_state(self, state: str) -> Filters:
        """The same for one state."""
        return replace(self, state=state)

    def with_verdict(self, verdict: str) -> Filters:
        """The same for one verdict."""
        return replace(self, verdict=verdict)

    def apply(self, rows: Iterable[JobRow]) -> list[JobRow]:
        """Return the jobs that it lets through, in its order."""
        text = self.text.lower()
        kept = [
            row
            for row in rows
            if self.namespace in ("", row.namespace)
            and self.kind in ("", row.kind)
            and self.state in ("", row.state)
            and self.owner in ("", row.belongs_to)
            and (not text or text in f"{row.namespace}/{row.name} {row.queue} {row.belongs_to} {row.why}".lower())
        ]
        return _sorted(kept, self.sort)


def _sorted(rows: Sequence[JobRow], sort: str) -> list[JobRow]:
    if sort == "name":
        return sorted(rows, key=lambda row: (row.namespace, row.name, row.kind))
    if sort == "newest":
        return sorted(rows, key=lambda row: row.created.timestamp() if row.created else 0.0, reverse=True)
    return by_attention(rows)
