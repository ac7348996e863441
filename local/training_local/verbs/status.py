"""`training-operator local status`: what runs, and how to reach it."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from training_local.cluster.overview import Overview, overview
from training_local.cluster.registry import ClusterRecord, check_name, find, running
from training_local.errors import BadInput
from training_local.show.cells import print_table
from training_local.verbs.finish import EXIT_FAILED, finish

_PHASES: Final = ("Running", "Pending", "Failed", "Succeeded")
_MEBIBYTE: Final = 1 << 20


def status(name: str | None, as_json: bool) -> None:
    """Show the running clusters, or the one called NAME."""
    finish(_status(name, as_json or not sys.stdout.isatty()))


async def _status(name: str | None, as_json: bool) -> int:
    if name is not None:
        check_name(name)
    try:
        records = [find(name)] if name else running()
    except BadInput as error:
        print(f"training-operator local: {error}", file=sys.stderr)
        return EXIT_FAILED
    views = await asyncio.gather(*(overview(record) for record in records))
    if as_json:
        content = [_as_json(*pair) for pair in zip(records, views, strict=True)]
        print(json.dumps(content[0] if name else content, indent=2))
    elif not records:
        print("No cluster is running; `training-operator local up --detach` starts one.")
    else:
        _print_table(records, views)
    return 0


def _as_json(record: ClusterRecord, view: Overview | None) -> dict[str, Any]:
    return {
        "name": record.name,
        "pid": record.pid,
        "url": record.url,
        "kubeconfig": str(record.kubeconfig),
        "startedAt": record.started_at.isoformat(),
        "sandbox": record.sandbox,
        "data": str(record.data) if record.data else None,
        "answers": view is not None,
        "pods": {phase.lower(): view.pods.get(phase, 0) for phase in _PHASES} if view else None,
        "jobs": view and dict(view.jobs),
        "cpuCores": view and view.cpu,
        "memoryBytes": view and view.memory,
    }


def _print_table(records: Sequence[ClusterRecord], views: Sequence[Overview | None]) -> None:
    now = datetime.now(UTC)
    ages = (timedelta(seconds=int((now - record.started_at).total_seconds())) for record in records)
    rows = (
        (record.name, str(record.pid), str(age), record.sandbox, *_cells(view))
        for record, age, view in zip(records, ages, views, strict=True)
    )
    places = (
        f"{record.name}: {record.url}, kubeconfig {record.kubeconfig}"
        + (f", objects in {record.data}" if record.data else "")
        for record in records
    )
    print_table(("NAME", "PID", "AGE", "SANDBOX", "PODS", "JOBS", "CPU", "MEMORY"), rows, places)


def _cells(view: Overview | None) -> tuple[str, str, str, str]:
    if view is None:
        return "does not answer", "", "", ""
    pods, jobs = counted(view.pods) or "none", counted(view.jobs) or "none"
    return pods, jobs, f"{view.cpu:.2f}", f"{view.memory / _MEBIBYTE:.0f} MiB"


def counted(amounts: Mapping[str, int]) -> str:
    """Return for example `2 Running, 1 Failed`; empty for nothing."""
    return ", ".join(f"{number} {state}" for state, number in sorted(amounts.items()) if number)
