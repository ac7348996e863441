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
    REJECTED = 4
    ENVIRONMENT = 5
    DIFFERENT = 6
    INCONCLUSIVE = 7
    INTERRUPTED = 130


MEANINGS: Final[Mapping[Exit, str]] = {
    Exit.DONE: "success: no finding at or above `--fail-on`; both runs are equal",
    Exit.FOUND: "findings or differences at or above `--fail-on`, or an object that differs from the prediction",
    Exit.USAGE: "usage error, or input that cannot be parsed or that v1 would reject",
    Exit.NO_COUNTERPART: "with `--strict`: a part of a job has no equivalent in v2",
    Exit.REJECTED: "a job is not converted: the admission of v2 would reject the result, or its kind is not supported",
    Exit.ENVIRONMENT: "environment: no cluster reachable, no permission, Trainer or JobSet not installed, no sandbox",
    Exit.DIFFERENT: "both sides ran, and the outcome differs",
    Exit.INCONCLUSIVE: "inconclusive: timeout, no witness, or missing logs",
    Exit.INTERRUPTED: "interrupted (Ctrl-C); created objects are deleted",
}
"""What each code says: for `--help` and the documentation."""
_OF_JOBS: Final = (Exit.DONE, Exit.FOUND, Exit.USAGE, Exit.REJECTED)
_OF_RUNS: Final = (Exit.USAGE, Exit.REJECTED, Exit.ENVIRONMENT, Exit.DIFFERENT, Exit.INCONCLUSIVE, Exit.INTERRUPTED)
BY_VERB: Final[Mapping[str, tuple[Exit, ...]]] = {
    "code": (Exit.DONE, Exit.FOUND, Exit.USAGE),
    "compare": (Exit.DONE, Exit.USAGE, Exit.DIFFERENT, Exit.INCONCLUSIVE),
    "convert": (Exit.DONE, Exit.FOUND, Exit.USAGE, Exit.NO_COUNTERPART, Exit.REJECTED, Exit.ENVIRONMENT),
    "diff": _OF_JOBS,
    "lint": (Exit.DONE, Exit.FOUND, Exit.USAGE),
    "probe": (Exit.DONE, *_OF_RUNS),
    "render": (Exit.DONE, Exit.USAGE, Exit.REJECTED),
    "report": (Exit.DONE, Exit.USAGE),
    "run": (Exit.DONE, *_OF_RUNS),
    "survey": (Exit.DONE, Exit.FOUND, Exit.USAGE, Exit.NO_COUNTERPART, Exit.REJECTED, Exit.ENVIRONMENT),
    "verify": (*_OF_JOBS, Exit.ENVIRONMENT, Exit.INCONCLUSIVE, Exit.INTERRUPTED),
}
"""Which verb can end with which code."""


class Failure(Exception):
    """Ends a verb: its text is one sentence for standard error."""

    def __init__(self, message: str, code: Exit) -> None:
        super().__init__(message, code)
        self.message, self.code = message, code

    def __str__(self) -> str:
        return self.message


_WORST_FIRST: Final = (
    Exit.INTERRUPTED,
    Exit.USAGE,
    Exit.ENVIRONMENT,
    Exit.DIFFERENT,
    Exit.REJECTED,
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
    `--strict` is obeyed nevertheless.
    """
    codes = list(examined)
    if fail_on is None and codes:
        return Exit.NO_COUNTERPART if Exit.NO_COUNTERPART in codes else Exit.DONE
    return worst([*codes, *failed])


def of_findings(findings: Iterable[Finding], fail_on: Severity | None, *, strict: bool = False) -> Exit:
    """The code for what is found in one job without what a conversion has fixed; None fails on nothing."""
    open_ones = [each for each in findings if not each.fixed]
    if strict and any(each.lacks_counterpart for each in open_ones):
        return Exit.NO_COUNTERPART
    if fail_on is None:
        return Exit.DONE
    counted = _HARDEST_FIRST[: _HARDEST_FIRST.index(fail_on) + 1]
    return Exit.FOUND if any(each.level in counted for each in open_ones) else Exit.DONE
