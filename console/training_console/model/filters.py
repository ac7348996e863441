"""Which jobs a page shows, as its address says; no effects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Final

from training_console.model.jobs import JobRow, by_attention

LONGEST: Final = 253
"""Characters of one filter."""
MOST_ROWS: Final = 5_000
SORTS: Final = ("attention", "newest", "name")


@dataclass(frozen=True, slots=True)
class Filters:
    """What the table is narrowed to; an empty field lets everything through."""

    namespace: str = ""
    kind: str = ""
    state: str = ""
    owner: str = ""
    text: str = ""
    sort: str = SORTS[0]

    @classmethod
    def read(cls, query: Mapping[str, str]) -> Filters:
        """Read the query of an address; what it says beyond is ignored."""
        known = {each.name: query[each.name].strip()[:LONGEST] for each in fields(cls) if each.name in query}
        if known.get("sort") not in SORTS:
            known.pop("sort", None)
        return cls(**known)

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
