"""`python -m e2e.failover [PLAY...] [--rounds N] [--seed N]`: change leaders under load, and print how long it took.

Times are the API server's, from its audit log, so they hold nothing of the clients.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import shutil
import sys
import tempfile
from pathlib import Path

from e2e.failover.audit import server_flags
from e2e.failover.plays import PLAYS, Seen, rounds
from e2e.failover.replicas import replicas
from e2e.faults.stage import stage
from rich.console import Console
from rich.table import Table


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


def main() -> int:
    """Play what is asked for; 1 if anything was wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("plays", nargs="*", metavar="PLAY", choices=[*PLAYS, []], help=f"any of {', '.join(PLAYS)}")
    parser.add_argument("--rounds", type=int, default=1, help="how often each")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="failover-"))
    names = [name for _ in range(given.rounds) for name in given.plays or PLAYS]
    seen, complaints = asyncio.run(play(folder, names, given.seed))
    console = Console()
    table = Table(
        "THE LEADER", "LEASE TAKEN AFTER", "FIRST WRITE AFTER", "AT MOST", "LATE WRITES", "CROSSING", "RESULT"
    )
    for each in seen:
        figures = (f"{each.taken:.2f} s", f"{each.written:.2f} s", f"{each.limit:g} s", str(len(each.late)))
        table.add_row(each.play, *figures, str(each.crossing), "ok" if in_time(each) and not each.late else "wrong")
    console.print(table)
    console.print(f"load average at the end: {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors", highlight=False)
    for complaint in complaints:
        console.print(complaint, highlight=False, markup=False)
    if complaints:
        console.print(f"logs are in {folder}", highlight=False)
        return 1
    shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
