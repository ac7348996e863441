"""Run the example of every framework, one after the other, and print a table: `python -m e2e.demos jax pytorch ...`."""

from __future__ import annotations

import subprocess
import sys
import time

from rich.console import Console
from rich.table import Table


def main() -> int:
    """Return 0 if every example ended well."""
    console, table = Console(), Table("FRAMEWORK", "RESULT", "SECONDS")
    failed = False
    for framework in sys.argv[1:]:
        console.rule(framework)
        begun = time.monotonic()
        status = subprocess.run(
            ["make", "--no-print-directory", "demo", f"FRAMEWORK={framework}"], check=False
        ).returncode
        failed |= status != 0
        table.add_row(framework, f"failed with {status}" if status else "trained", f"{time.monotonic() - begun:.0f}")
    console.print(table)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
