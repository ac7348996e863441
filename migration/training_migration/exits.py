"""Exit codes of `migrate`: each says one thing, and several jobs give the worst."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum
from typing import Final

from training_migration.findings import Finding, Severity, Verdict, verdict


class Exit(IntEnum):
    """How a verb ends."""

    DONE = 0
    """Nothing at or above `--fail-on`; runs are equal."""
    FOUND = 1
    """Findings or differences at or above `--fail-on`."""
    USAGE = 2
    """Wrong usage, or input that is unreadable or that v1 would refuse."""
    NO_COUNTERPART = 3
    """With `--strict`: a part of a job has no counterpart."""
    REFUSED = 4
    """v2's admission would refuse, or has refused, an object; or nobody converts jobs of this kind."""
    ENVIRONMENT = 5
    """No cluster in reach, v2 or JobSet is not there, no permission, no sandbox possible."""
    DIFFERENT = 6
    """Both sides ran, and it was not the same."""
    INCONCLUSIVE = 7
    """Out of time, no witness, logs gone."""
    INTERRUPTED = 130
    """By Ctrl-C; everything has been cleaned up."""


class Failure(Exception):
    """Ends a verb: its text is one sentence for standard error."""

    def __init__(self, message: str, code: Exit) -> None:
        super().__init__(message)
        self.code = code


_WORST_FIRST: Final = (
    Exit.INTERRUPTED,
    Exit.USAGE,
    Exit.ENVIRONMENT,
    Exit.DIFFERENT,
    Exit.REFUSED,
    Exit.NO_COUNTERPART,
    Exit.INCONCLUSIVE,
    Exit.FOUND,
    Exit.DONE,
)
_HARDEST_FIRST: Final = (Severity.ERROR, Severity.WARNING, Severity.INFO)


def worst(codes: Iterable[Exit]) -> Exit:
    """The code of several jobs; DONE for none."""
    return min(codes, key=_WORST_FIRST.index, default=Exit.DONE)


def of_findings(findings: Iterable[Finding], fail_on: Severity | None, *, strict: bool = False) -> Exit:
    """The code for what is found in one job without what a conversion has mended; None fails on nothing."""
    open_ones = [each for each in findings if not each.fixed]
    if strict and verdict(open_ones) is Verdict.IMPOSSIBLE:
        return Exit.NO_COUNTERPART
    if fail_on is None:
        return Exit.DONE
    counted = _HARDEST_FIRST[: _HARDEST_FIRST.index(fail_on) + 1]
    return Exit.FOUND if any(each.level in counted for each in open_ones) else Exit.DONE
