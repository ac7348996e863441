"""`python -m e2e.adversary --steps 2000 [--seed N]`: the matrix of tenants' verbs and objects, on a real API server.

Prints the seed, which plays the same steps again, and what was seen; ends with a traceback and the shortest script that
was found if something no longer holds, and with status 1 if a cell of the matrix was never tried.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from pathlib import Path

from e2e.adversary.installation import installed, running
from e2e.adversary.matrix import play_all


def main() -> int:
    """Play the steps; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m e2e.adversary", description=__doc__)
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    arguments = parser.parse_args()
    print(f"seed {arguments.seed}", flush=True)
    with (
        installed() as cluster,
        tempfile.TemporaryDirectory() as folder,
        running(cluster, Path(folder)) as operator,
    ):
        told = play_all(cluster, operator, arguments.steps, arguments.seed)
    print(told)
    return int(bool(told.never))


if __name__ == "__main__":
    sys.exit(main())
