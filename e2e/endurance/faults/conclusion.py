"""How a program ends that plays with operators: what was wrong, and where their logs are."""

from __future__ import annotations

import shutil
from pathlib import Path

from rich.console import Console


def conclude(console: Console, complaints: list[str], folder: Path) -> int:
    """Print the complaints and return the exit status; the folder with the logs is kept if there are any."""
    for complaint in complaints:
        console.print(complaint, highlight=False, markup=False)
    if complaints:
        console.print(f"logs are in {folder}", highlight=False)
        return 1
    shutil.rmtree(folder)
    return 0
