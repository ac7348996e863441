"""Colours: each replica has one for good, each phase and state has its own."""

from __future__ import annotations

import zlib
from typing import Final

from training_local.run.progress import Replica

REPLICA_COLOURS: Final = ("cyan", "green", "blue", "bright_cyan", "bright_green", "bright_blue")
"""None that looks like trouble: many terminals show magenta as red."""
STATE_STYLES: Final = {"Succeeded": "bold green", "Failed": "bold red", "Running": "bold cyan"}
OTHER_STATE: Final = "bold yellow"
PHASE_STYLES: Final = {
    "Running": "cyan",
    "Succeeded": "green",
    "Failed": "bold red",
    "Pending": "yellow",
    "Waiting": "yellow",
    "Terminating": "dim",
}


def colour_of(replica: Replica) -> str:
    """Return the replica's colour: the same in every view and every run, another one than its neighbours'."""
    name = replica.replica_type or replica.pod
    return REPLICA_COLOURS[(zlib.crc32(name.encode()) + replica.index) % len(REPLICA_COLOURS)]
