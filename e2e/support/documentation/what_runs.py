"""What has been run: the table of the runs that tests have recorded."""

from __future__ import annotations

import json
from typing import Final, TypedDict

from e2e.support.documentation.table import table
from e2e.support.paths import ROOT

RECORDED: Final = ROOT / "e2e" / "training" / "recorded_runs.json"


class RecordedRun(TypedDict):
    """A test of a job that has passed."""

    library: str
    versions: str
    kind: str
    shown: str
    where: str
    date: str
    test: str


def recorded_runs() -> list[RecordedRun]:
    """What the file has."""
    runs: list[RecordedRun] = json.loads(RECORDED.read_text())
    return runs


def what_runs() -> str:
    """A row for each run."""
    columns = ("Library", "Versions", "Kind", "Shown", "Where", "Last run", "Test")
    rows = [
        (run["library"], run["versions"], run["kind"], run["shown"], run["where"], run["date"], f"`{run['test']}`")
        for run in recorded_runs()
    ]
    return table(columns, rows)
