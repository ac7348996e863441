"""Tables of the versions that tests have run with, from the record of `python -m e2e.tools.compatibility`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

from e2e.support.documentation.table import table
from e2e.support.paths import ROOT

RECORD: Final = ROOT / "e2e" / "support" / "compatibility.json"
LEADING: Final = {
    "Kubernetes": ("1.30", "1.31", "1.32", "1.33", "1.34", "1.35"),
    "Python": ("3.11", "3.12", "3.13", "3.14"),
}
"""Versions that have a row even if nothing was run with them."""


def recorded() -> list[dict[str, Any]]:
    """What was run: an object per version and kind of test."""
    found: list[dict[str, Any]] = json.loads(RECORD.read_text())
    return found


def compatibility(runs: Sequence[dict[str, Any]] | None = None) -> str:
    """A table per subject: a row per version, a column per kind of test; what was not run is empty."""
    runs = recorded() if runs is None else runs
    subjects = dict.fromkeys((*(run["subject"] for run in runs), *LEADING))
    return "\n\n".join(_table(subject, [run for run in runs if run["subject"] == subject]) for subject in subjects)


def _table(subject: str, runs: Sequence[dict[str, Any]]) -> str:
    kinds = list(dict.fromkeys(run["what"] for run in runs))
    versions = dict.fromkeys((*LEADING.get(subject, ()), *(run["version"] for run in runs)))
    rows = []
    for version in versions:
        here = {run["what"]: run for run in runs if run["version"] == version}
        exact = ", ".join(dict.fromkeys(run["exact"] for run in here.values()))
        days = " - ".join(sorted({run["date"] for run in here.values()}))
        rows.append([version, exact, *(_cell(here.get(kind)) for kind in kinds), days])
    return table([subject, "exactly", *kinds, "run on"], rows)


def _cell(run: dict[str, Any] | None) -> str:
    if run is None:
        return ""
    return f"{run['passed']} passed" if not run["failed"] else f"**{run['failed']} failed**, {run['passed']} passed"
