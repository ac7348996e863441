"""`python -m e2e.endurance.faults [NAME...] [--seed N] [--short]`: play faults in turn, and print a table."""

from __future__ import annotations

import argparse
import asyncio
import shutil
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from e2e.endurance.faults.faults import FAULTS, Fault
from e2e.endurance.faults.stage import stage
from rich.console import Console
from rich.table import Table


@dataclass(frozen=True)
class Report:
    """What was seen of one fault."""

    complaints: list[str]
    jobs: int = 0
    pods: int = 0
    failures: int = 0
    operators: int = 0
    seconds: float = 0.0


async def play(fault: Fault, seed: int, folder: Path, *, short: bool = False) -> Report:
    """Play one fault on a control plane of its own; logs of the operators go into the folder."""
    size, rounds = fault.short if short and fault.short else (fault.jobs, fault.rounds)
    begun = time.monotonic()
    async with stage(folder, seed, size, rounds) as made:
        try:
            await fault.play(made)
        except Exception as error:  # whatever it is, it belongs into the report
            made.complaints.append(f"the play ended with {error!r}")
    return Report(
        made.conclude(),
        jobs=made.watcher.started,
        pods=made.watcher.created,
        failures=made.node.failures,
        operators=len(made.operators),
        seconds=time.monotonic() - begun,
    )


def main() -> int:
    """Play what is asked for; 1 if anything was wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    names = f"any of {', '.join(FAULTS)}; all if none is named"
    parser.add_argument("names", nargs="*", metavar="NAME", choices=[*FAULTS, []], help=names)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--short", action="store_true", help="in the size of the tests, where there is one")
    given = parser.parse_args()
    console, table = Console(), Table("FAULT", "JOBS", "PODS", "FAILED PODS", "OPERATORS", "SECONDS", "RESULT")
    failed = False
    for name in given.names or FAULTS:
        console.print(f"{name}: {FAULTS[name].title}", highlight=False)
        folder = Path(tempfile.mkdtemp(prefix=f"faults-{name}-"))
        report = asyncio.run(play(FAULTS[name], given.seed, folder, short=given.short))
        for complaint in report.complaints:
            console.print(f"  {complaint}", highlight=False, markup=False)
        if report.complaints:
            failed = True
            console.print(f"  the operators' logs are in {folder}", highlight=False)
        else:
            shutil.rmtree(folder)
        counted = (report.jobs, report.pods, report.failures, report.operators)
        result = f"{len(report.complaints)} complaint(s)" if report.complaints else "ok"
        table.add_row(name, *map(str, counted), f"{report.seconds:.0f}", result)
    console.print(table)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
