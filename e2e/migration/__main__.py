"""Every v1 job there is, converted and built for real: `python -m e2e.migration [--made N] [--seed S]`.

The examples of v1, the jobs of the conformance suite, the corpus of conversions, and jobs by chance: first suspended,
then with their pods. Some ten minutes on a quiet machine; what is not as predicted is printed and makes it fail.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from collections import Counter
from pathlib import Path

from e2e.migration.controllers import trainer_cluster
from e2e.migration.jobs import cases, examples, golden, made, verified

from training_migration.verify.outcome import VerificationOutcome

FINE = (VerificationOutcome.EQUAL, VerificationOutcome.NOT_CONVERTED)


def main() -> int:
    """Verify everything twice."""
    parser = argparse.ArgumentParser(prog="python -m e2e.migration", description="Predictions and real controllers.")
    parser.add_argument("--made", type=int, default=200, help="how many jobs by chance (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of the jobs by chance (default: %(default)s)")
    arguments = parser.parse_args()
    sets = {
        "examples": examples(),
        "cases": cases(),
        "golden": golden(),
        "made": made(arguments.seed, arguments.made),
    }
    bad = 0
    with tempfile.TemporaryDirectory(prefix="training-migration-") as folder, trainer_cluster(Path(folder)) as cluster:
        for pods in (False, True):
            for name, jobs in sets.items():
                where = f"{name}-{'pods' if pods else 'suspended'}"
                found = asyncio.run(verified(cluster.kubeconfig, where, jobs, pods=pods))
                counts = Counter(each.outcome.value for each in found)
                print(f"{where}: {', '.join(f'{number} {word}' for word, number in counts.items())}", flush=True)
                for each in found:
                    if each.outcome not in FINE:
                        bad += 1
                        print(f"  {each.subject.kind} {each.subject.name}: {each.outcome.value}: {each.message}")
                        for difference in each.differences:
                            print(f"    {difference}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
