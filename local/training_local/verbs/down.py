"""`training-operator local down`: end a running cluster."""

from __future__ import annotations

import asyncio
import sys
from typing import Final

from training_local.cluster.overview import overview
from training_local.cluster.registry import ClusterRecord, check_name, end, find, running
from training_local.errors import BadInput
from training_local.verbs.finish import EXIT_FAILED, finish
from training_local.verbs.status import counted

PATIENCE_SECONDS: Final = 60.0


def down(name: str | None, everything: bool) -> None:
    """End the cluster NAME, with everything that runs in it, and wait until it has gone."""
    finish(_down(name, everything))


async def _down(name: str | None, everything: bool) -> int:
    if name and everything:
        raise BadInput("a name and --all are mutually exclusive: use one of them")
    if name is not None:
        check_name(name)
    found = running()
    if not found or (name and name not in [record.name for record in found]):
        print(f"No cluster {name} is running." if name else "No cluster is running.")
        return 0
    gone = await asyncio.gather(*(_end(record) for record in (found if everything else [find(name)])))
    return 0 if all(gone) else EXIT_FAILED


async def _end(record: ClusterRecord) -> bool:
    view = await overview(record)
    work = counted({**view.pods, "Succeeded": 0, "Failed": 0}) if view else ""
    print(f"Ending {record.name}" + (f", pods: {work}" if work else "") + " ...", flush=True)
    if await end(record, PATIENCE_SECONDS):
        kept = f" Its objects are in {record.data}." if record.data else ""
        print(f"Ended {record.name}.{kept}", flush=True)
        return True
    print(
        f"training-operator local: {record.name} has not ended within {PATIENCE_SECONDS:g} s; "
        f"`kill -9 {record.pid}` kills it at once, and the next start cleans up",
        file=sys.stderr,
    )
    return False
