"""`training-operator local runs`: the runs that were kept."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Final

from training_api.models.common import rfc3339
from training_api.printable import legible
from training_local.durations import human
from training_local.run.archive import ArchivedRun, archived_runs
from training_local.show.cells import print_table
from training_local.verbs.finish import one_sentence

_MEBIBYTE: Final = 1 << 20


def runs(*, as_json: bool) -> None:
    """Show the runs that were kept, the newest first."""
    with one_sentence():
        found = archived_runs()
    if as_json or not sys.stdout.isatty():
        print(json.dumps([_as_json(run) for run in found], indent=2))
    elif not found:
        print("No run is recorded; `training-operator local run FILES` runs a job and records it.")
    else:
        _print_table(found)


def _as_json(run: ArchivedRun) -> dict[str, Any]:
    summary = run.summary
    return {
        "run": run.id,
        "kind": run.record.kind,
        "namespace": run.record.namespace,
        "name": run.record.name,
        "outcome": run.outcome,
        "exitStatus": summary and summary.exit_status,
        "startedAt": rfc3339(run.record.started_at),
        "endedAt": summary and rfc3339(summary.ended_at),
        "seconds": summary and summary.seconds,
        "restarts": summary and summary.restarts,
        "message": summary and summary.message,
        "firstCause": (summary and summary.first_cause) or None,
        "bytes": run.bytes,
        "folder": str(run.folder),
    }


def _print_table(found: Sequence[ArchivedRun]) -> None:
    now = datetime.now(UTC)
    rows = (
        (run.id, run.record.kind, run.outcome, human((now - run.record.started_at).total_seconds()), *_cells(run))
        for run in found
    )
    reasons = (
        f"{run.id}: {legible(run.summary.first_cause or run.summary.message)}"
        for run in found
        if run.summary and run.summary.exit_status
    )
    where = f"In {found[0].folder.parent}; training-operator local logs --run RUN"
    print_table(("RUN", "KIND", "OUTCOME", "AGE", "TOOK", "RESTARTS", "SIZE"), rows, (*reasons, where))


def _cells(run: ArchivedRun) -> tuple[str, str, str]:
    size = f"{run.bytes / _MEBIBYTE:.1f} MiB"
    if run.summary is None:
        return "", "", size
    return human(run.summary.seconds), str(run.summary.restarts or ""), size
