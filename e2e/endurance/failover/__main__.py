"""`python -m e2e.endurance.failover [PLAY...] [--rounds N] [--seed N]`: how long changes of leaders take.

Times are the API server's, from its audit log, so they hold nothing of the clients. `saturation` changes no leader: it
prints how late the lease is renewed while hundreds of jobs come at once.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import tempfile
from pathlib import Path

from e2e.endurance.failover.audit import server_flags
from e2e.endurance.failover.plays import PLAYS, Seen, rounds
from e2e.endurance.failover.replicas import replicas
from e2e.endurance.failover.saturation import AT_MOST, Renewals, saturated
from e2e.endurance.faults.conclusion import conclude
from e2e.endurance.faults.stage import stage
from rich.console import Console
from rich.table import Table

SATURATION = "saturation"


async def play(folder: Path, names: list[str], seed: int) -> tuple[list[Seen], list[str]]:
    """Change leaders on a control plane of their own; returns what was seen, and complaints."""
    seen: list[Seen] = []
    async with stage(folder, seed, 10, len(names), server_flags(folder)) as made, replicas(made) as makes:
        try:
            seen = await rounds(made, makes, names)
        except Exception as error:  # whatever it is, it belongs into the report
            made.complaints.append(f"the play ended with {error!r}")
    complaints = made.conclude()
    complaints += [f"{each.play}: {each.written:.2f} s, not {each.limit:g} s" for each in seen if not in_time(each)]
    return seen, complaints + [f"{each.play}: written too late: {each.late}" for each in seen if each.late]


def in_time(seen: Seen) -> bool:
    """Whether a change took no longer than it may."""
    return seen.written <= seen.limit


async def saturate(folder: Path, seed: int) -> tuple[Renewals, list[str]]:
    """Follow the lease of an operator that has more to do than it can, on a control plane of its own."""
    async with stage(folder, seed, 10, 1, server_flags(folder)) as made, replicas(made) as makes:
        seen = await saturated(made, makes)
    late = [f"the lease was renewed after {seen.gap:.1f} s, not {AT_MOST:g} s"] if seen.gap > AT_MOST else []
    return seen, made.conclude() + late


def table_of(seen: list[Seen]) -> Table:
    """One row for each change."""
    table = Table(
        "THE LEADER", "LEASE TAKEN AFTER", "FIRST WRITE AFTER", "AT MOST", "LATE WRITES", "CROSSING", "RESULT"
    )
    for each in seen:
        figures = (f"{each.taken:.2f} s", f"{each.written:.2f} s", f"{each.limit:g} s", str(len(each.late)))
        table.add_row(each.play, *figures, str(each.crossing), "ok" if in_time(each) and not each.late else "wrong")
    return table


def main() -> int:
    """Play what is asked for; 1 if anything was wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    names = f"any of {', '.join(PLAYS)}, {SATURATION}; all if none is named"
    parser.add_argument("plays", nargs="*", metavar="PLAY", choices=[*PLAYS, SATURATION, []], help=names)
    parser.add_argument("--rounds", type=int, default=1, help="how often each change")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    asked = given.plays or [*PLAYS, SATURATION]
    folder, console, complaints = Path(tempfile.mkdtemp(prefix="failover-")), Console(), list[str]()
    if changes := [name for _ in range(given.rounds) for name in asked if name in PLAYS]:
        (folder / "changes").mkdir()
        seen, wrong = asyncio.run(play(folder / "changes", changes, given.seed))
        complaints += wrong
        console.print(table_of(seen))
    if SATURATION in asked:
        (folder / SATURATION).mkdir()
        renewals, wrong = asyncio.run(saturate(folder / SATURATION, given.seed))
        complaints += wrong
        console.print(
            f"{renewals.writes} writes for jobs in {renewals.seconds:.1f} s; meanwhile {renewals.renewals} renewals "
            f"of the lease, at most {renewals.gap:.2f} s apart, answered within {renewals.answer:.3f} s",
            highlight=False,
        )
    console.print(f"load average at the end: {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors", highlight=False)
    return conclude(console, complaints, folder)


if __name__ == "__main__":
    sys.exit(main())
