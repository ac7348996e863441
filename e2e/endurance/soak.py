"""`python -m e2e.endurance.soak`: hours of jobs in virtual time, and what is left of them: nothing, or exit 1.

The operator as it is shipped, on the in-memory API server; pods end well, fail, are killed; jobs expire or are deleted,
finished or not. Compared are the sizes of all containers that the operator leads to and the bytes that its modules have
allocated, after a third of the jobs, when all memories with a limit are full, and after all of them.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import sys
import time
import tracemalloc
from collections.abc import Mapping

import structlog
from e2e.support.simulation.soak import filled, growth, soak
from e2e.support.virtual_time import VirtualLoop


def main() -> int:
    """Run and print; the exit status is 1 if anything has grown."""
    parser = argparse.ArgumentParser(prog="python -m e2e.endurance.soak", description=__doc__)
    parser.add_argument("--jobs", type=int, default=20_000, help="jobs that come and go (default: 20000)")
    parser.add_argument("--hours", type=float, default=2.0, help="of virtual time in which they come (default: 2)")
    parser.add_argument("--seed", type=int, default=0, help="of all chance (default: 0)")
    given = parser.parse_args()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    begun = time.monotonic()
    tracemalloc.start()
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        before, after = runner.run(soak(given.jobs, given.hours * 3600, given.seed))
    print(f"{given.jobs:,} jobs in {given.hours:g} h of virtual time took {time.monotonic() - begun:.0f} s")
    print(f"containers looked at: {len(after.sizes)}; items in them: {_items(before.sizes)} -> {_items(after.sizes)}")
    print(f"allocated by the operator's modules: {before.allocated / 1e6:.1f} MB -> {after.allocated / 1e6:.1f} MB")
    if not filled(before):
        print("too few jobs to judge the bytes: memories with a limit were not full yet at the base line")
    grown = growth(before, after)
    for each in grown:
        print(f"grown: {each}")
    return 1 if grown else 0


def _items(sizes: Mapping[str, int]) -> int:
    return sum(sizes.values())


if __name__ == "__main__":
    sys.exit(main())
