"""What a process has used."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

TICK = os.sysconf("SC_CLK_TCK")


def cpu_seconds(pid: int) -> float:
    """CPU seconds of a process so far, without its children."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def memory_mb(pid: int, field: str = "VmRSS") -> float:
    """Resident memory of a process: now, or at most so far (`VmHWM`)."""
    line = next(each for each in Path(f"/proc/{pid}/status").read_text().splitlines() if each.startswith(field))
    return int(line.split()[1]) / 1024


async def cpu_at_rest(pid: int) -> float:
    """CPU seconds of a process once it has used next to none for a second: its work is done, caches are settled."""
    used = cpu_seconds(pid)
    while True:
        await asyncio.sleep(1)
        before, used = used, cpu_seconds(pid)
        if used - before <= 0.02:
            return used
