"""Programs one after the other, and a table of what became of each: `make demo FRAMEWORK=all`, `make weekly`."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table


@dataclass(frozen=True, slots=True)
class Step:
    """One program."""

    name: str
    command: Sequence[str]


def run_all(steps: Sequence[Step]) -> int:
    """Run every step, whatever became of those before; print the table, and return 0 if all ended with 0."""
    console, table = Console(), Table("NAME", "RESULT", "SECONDS")
    failed = False
    begun = time.monotonic()
    for step in steps:
        console.rule(step.name)
        step_begun = time.monotonic()
        status = subprocess.run(step.command, check=False).returncode
        failed |= status != 0
        result = f"failed with {status}" if status else "ok"
        table.add_row(step.name, result, f"{time.monotonic() - step_begun:.0f}")
    table.add_section()
    table.add_row("all", "failed" if failed else "ok", f"{time.monotonic() - begun:.0f}")
    console.print(table)
    return 1 if failed else 0
