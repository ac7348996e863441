"""`python -m e2e.endurance.any_job --objects 20000 [--seed N]`: arbitrary jobs of each kind, from the CRDs' schemas.

Prints what became of them, and the slowest job of each stage; ends with status 1 if one raised what has no name, took
more than 50 ms of processor time, or if memory grows. The seed is printed, and plays the same jobs again.
"""

from __future__ import annotations

import argparse
import random
import sys

from e2e.support.any_job.stages import Seen, Stages, growth

from training_api.registry import KINDS

SLOW = 0.05
"""Processor seconds that no stage may take for a job."""
GROWTH = 100_000
"""Bytes by which memory may be larger after further jobs."""


def main() -> int:
    """Play all kinds; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m e2e.endurance.any_job", description=__doc__)
    parser.add_argument("--objects", type=int, default=20_000, help="of each kind")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    arguments = parser.parse_args()
    print(f"seed {arguments.seed}", flush=True)
    failed = False
    for kind in KINDS:
        seen = Seen()
        stages = Stages(kind, seen)
        for number in range(arguments.objects):
            stages.play(f"{arguments.seed}/{number}")
        grown = growth(kind, str(arguments.seed), min(arguments.objects, 500))
        print(f"{kind}\n{seen.summary}\nmemory: {grown} bytes more after further jobs", flush=True)
        print(*seen.failures[:20], sep="\n", flush=True)
        failed |= bool(seen.failures) or grown > GROWTH or any(took > SLOW for took, _ in seen.slowest.values())
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
