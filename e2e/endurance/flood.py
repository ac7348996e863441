"""A job of a thousand pods that all fail, in virtual time on the embedded API server: `python -m e2e.endurance.flood`.

Fails if the status is written more than once a second after the first five, or if the job gets more than 50 events.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import sys

import structlog
from e2e.support.simulation.flood import Flood, flood
from e2e.support.virtual_time import VirtualLoop

MOST_EVENTS, AT_ONCE = 50, 5


def main(pods: int) -> int:
    """Run one job per restart policy; 1 if any was told too often."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    status = 0
    for policy in ("OnFailure", "ExitCode", "Never"):
        with asyncio.Runner(loop_factory=VirtualLoop) as runner:
            seen: Flood = runner.run(flood(pods, policy))
        good = seen.status_writes <= seen.seconds + AT_ONCE and seen.events <= MOST_EVENTS
        print(
            f"{policy:10} {pods} pods: {seen.status_writes} status writes in {seen.seconds:.0f} s, {seen.events} events"
            f"{'' if good else ' - too many'}"
        )
        status |= not good
    return status


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pods", type=int, default=1000)
    sys.exit(main(parser.parse_args().pods))
