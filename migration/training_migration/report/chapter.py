"""A chapter of a report: what one file of results says, whatever wrote it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from training_migration.report.columns import Table


class Status(StrEnum):
    """What a result means for a decision."""

    GOOD = "good"
    OPEN = "open"
    """Evidence is missing, or a person has to look."""
    BAD = "bad"


_WORST_FIRST: Final = (Status.BAD, Status.OPEN, Status.GOOD)


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that is as it should be, or is not; a test case of JUnit."""

    name: str
    status: Status
    message: str = ""
    """Why it is not good."""


@dataclass(frozen=True, slots=True)
class Chapter:
    """The results of one verb."""

    verb: str
    source: str
    headline: str
    checks: tuple[Check, ...]
    tables: tuple[tuple[str, Table], ...] = ()
    """With the title of each; the title may be empty."""
    html: str = ""
    """A piece of a page in place of the tables, where there is more to see."""

    @property
    def status(self) -> Status:
        """The worst of its checks."""
        return min((check.status for check in self.checks), key=_WORST_FIRST.index, default=Status.GOOD)
