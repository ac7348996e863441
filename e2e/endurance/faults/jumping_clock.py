"""`python -m e2e.endurance.faults.jumping_clock FILE run ...`: the operator, its wall clock off by the seconds in FILE.

The file is read whenever the operator asks for the time, so the clock jumps when the file is replaced.
"""

from __future__ import annotations

import sys
from datetime import datetime, timedelta, tzinfo
from pathlib import Path

import training_operator.app
from training_operator.cli import command


class Shifted(datetime):
    """The class `datetime` of a machine whose clock is wrong."""

    offset: Path

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> Shifted:
        """What that machine takes for now."""
        return super().now(tz) + timedelta(seconds=float(cls.offset.read_text()))


if __name__ == "__main__":
    Shifted.offset = Path(sys.argv[1])
    vars(training_operator.app)["datetime"] = Shifted
    command.main(args=sys.argv[2:])
