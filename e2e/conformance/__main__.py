"""`python -m e2e.conformance --kubeconfig FILE`: record anew what the Go operator makes of the cases, or of some."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Sequence
from pathlib import Path

from e2e.conformance.activity import watching
from e2e.conformance.case import FOLDER, Case, case_names
from e2e.conformance.compare import Record, differences
from e2e.harness.client import connect
from e2e.harness.jobs import PLURALS
from e2e.harness.recordings import write

GOLDEN = FOLDER.parent / "golden"
OBJECTS = 5
"""How deep the objects of a snapshot lie in a recording, each of which has a line."""


async def record(kubeconfig: Path, names: Sequence[str], runs: int) -> list[Record]:
    """What the operator in front of a cluster makes of the cases, all played at the same time, run after run."""
    async with connect(kubeconfig) as api, watching(api, PLURALS.values()) as activity:
        played = [
            await asyncio.gather(*(Case(api, activity, name, lambda _: True).record() for name in names))
            for _ in range(runs)
        ]
    return [merged(records) for records in zip(*played, strict=True)]


def merged(records: Sequence[Record]) -> Record:
    """The first of several records of one case; where the operator differed from itself is `volatile`."""
    first, *others = records
    leaves = {(found.step, found.path) for other in others for found in differences(first, other)}
    return {**first, "volatile": sorted(map(list, leaves))}


def main() -> None:
    """Record."""
    parser = argparse.ArgumentParser(prog="python -m e2e.conformance", description=__doc__)
    parser.add_argument("cases", nargs="*", default=["*"], help="globs over names of cases; all if none is given")
    parser.add_argument("--kubeconfig", type=Path, required=True, help="of a cluster with the Go operator in front")
    parser.add_argument("--runs", type=int, default=3, help="how often each case is played (default: 3)")
    arguments = parser.parse_args()
    for each in asyncio.run(record(arguments.kubeconfig, case_names(arguments.cases), arguments.runs)):
        write(GOLDEN / f"{each['case']}.json", each, OBJECTS)
        print(f"{each['case']}: {len(each['snapshots'])} snapshots, {len(each['volatile'])} volatile leaves")


if __name__ == "__main__":
    main()
