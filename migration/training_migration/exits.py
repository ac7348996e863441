"""Exit codes of `migrate`: each says one thing, and several jobs give the worst."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import IntEnum
from typing import Final

from training_migration.findings import Finding, Severity


class Exit(IntEnum):
    """How a verb ends."""

    DONE = 0
    FOUND = 1
    USAGE = 2
    NO_COUNTERPART = 3
    REFUSED = 4
    ENVIRONMENT = 5
    DIFFERENT = 6
    INCONCLUSIVE = 7
    INTERRUPTED = 130


MEANINGS: Final[Mapping[Exit, str]] = {
    Exit.DONE: "done, and nothing as bad as `--fail-on`; both runs are equal",
    Exit.FOUND: "findings or differences as bad as `--fail-on`, or another object than predicted",
    Exit.USAGE: "wrong usage, or input that cannot be read or that v1 would refuse",
    Exit.NO_COUNTERPART: "with `--strict`: a part of a job has no counterpart in v2",
    Exit.REFUSED: "a job is not converted: v2 refuses what would come of it, or nobody has said how it is converted",
    Exit.ENVIRONMENT: "no cluster in reach, no permission, Trainer or JobSet is not there, no sandbox possible",
    Exit.DIFFERENT: "both sides ran, and it was not the same",
    Exit.INCONCLUSIVE: "inconclusive: out of time, no witness, logs gone",
    Exit.INTERRUPTED: "interrupted; what was created is removed",
}
"""What each code says: for `--help` and the documentation."""
_OF_JOBS: Final = (Exit.DONE, Exit.FOUND, Exit.USAGE, Exit.REFUSED)
_OF_RUNS: Final = (Exit.USAGE, Exit.REFUSED, Exit.ENVIRONMENT, Exit.DIFFERENT, Exit.INCONCLUSIVE, Exit.INTERRUPTED)
BY_VERB: Final[Mapping[str, tuple[Exit, ...]]] = {
    "code": (Exit.DONE, Exit.FOUND, Exit.USAGE),
    "compare": (Exit.DONE, Exit.USAGE, Exit.DIFFERENT, Exit.INCONCLUSIVE),
    "convert": (Exit.DONE, Exit.FOUND, Exit.USAGE, Exit.NO_COUNTERPART, Exit.REFUSED),
    "diff": _OF_JOBS,
    "lint": (Exit.DONE, Exit.FOUND, Exit.USAGE),
    "probe": (Exit.DONE, *_OF_RUNS),
    "render": (Exit.DONE, Exit.USAGE, Exit.REFUSED),
    "report": (Exit.DONE, Exit.USAGE),
    "run": (Exit.DONE, *_OF_RUNS),
    "survey": (Exit.DONE, Exit.FOUND, Exit.USAGE, Exit.NO_COUNTERPART, Exit.REFUSED, Exit.ENVIRONMENT),
    "verify": (*_OF_JOBS, Exit.ENVIRONMENT, Exit.INTERRUPTED),
}
"""Which verb can end with which code."""


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


def final(examined: Iterable[Exit], failed: Iterable[Exit], fail_on: Severity | None) -> Exit:
    """The code of a verb: by the codes of the jobs that it has examined, and of what it could not examine.

    With `--fail-on never` what is said of jobs is a report and no more, unless there is nothing to report on;
    `--strict` is obeyed all the same.
    """
    codes = list(examined)
    if fail_on is None and codes:
        return Exit.NO_COUNTERPART if Exit.NO_COUNTERPART in codes else Exit.DONE
    return worst([*codes, *failed])


def of_findings(findings: Iterable[Finding], fail_on: Severity | None, *, strict: bool = False) -> Exit:
    """The code for what is found in one job without what a conversion has mended; None fails on nothing."""
    open_ones = [each for each in findings if not each.fixed]
    if strict and any(each.lacks_counterpart for each in open_ones):
        return Exit.NO_COUNTERPART
    if fail_on is None:
        return Exit.DONE
    counted = _HARDEST_FIRST[: _HARDEST_FIRST.index(fail_on) + 1]
    return Exit.FOUND if any(each.level in counted for each in open_ones) else Exit.DONE
