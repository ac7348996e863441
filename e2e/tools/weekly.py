"""What is too long for every change: all training tests, and the programs that are run by hand, in small sizes.

`make weekly`, or `python -m e2e.tools.weekly ENVIRONMENTS REQUIRED...`: the folder of the frameworks' environments,
and the frameworks whose tests may not be skipped.

The unit tests play worlds and examples that no run has seen before. Their seed stands in the table and plays them
again: `FRESH_SEED=N make test ARGS='--hypothesis-profile=fresh --hypothesis-seed=N'`, with `-k seed-N-` for one world.
"""

from __future__ import annotations

import random
import sys

from e2e.tools.table import Step, run_all
from e2e.training.examples import LIBRARIES

from training_local.run.examples import DEMOS

PROGRAMS = {
    "endurance.durability": ["--kills", "30"],
    "endurance.survivors": ["--kills", "10", "--interrupts", "3", "--deletions", "5"],
    "endurance.fuzz": ["--requests", "4000"],
    "adversary": ["--steps", "4000"],
    "endurance.any_job": ["--objects", "20000"],
    "endurance.faults": ["--seed", "1"],
    "endurance.failover": ["--rounds", "3"],
    "endurance.upgrade": [],
    "fidelity.random_applies": ["--runs", "60"],
    "endurance.soak": ["--jobs", "20000", "--hours", "2"],
    "endurance.flood": ["--pods", "1000"],
    "integrations.kueue.multikueue": [],
    "node.first_install": ["--rounds", "1"],
    "migration.same_training": [],
    "migration": ["--made", "120"],
    "migration.fuzz": ["--mutations", "30000"],
    "tools.mutations": ["--sample", "40"],
    "tools.package": [],
    "tools.image": [],
    "local.many_pods": [],
}
"""Modules of this package, with sizes at which each takes some minutes; the faults take half an hour."""


def steps(environments: str, required: list[str]) -> list[Step]:
    """One step for the unit tests, each framework and each program."""
    seed = random.SystemRandom().randrange(1 << 32)
    pytest = ["env", f"FRESH_SEED={seed}", sys.executable, "-m", "pytest", "-rs"]
    fresh = ["-n", "2", "--dist", "worksteal", "--hypothesis-profile=fresh", f"--hypothesis-seed={seed}"]
    training = [*pytest, "e2e/training", f"--environments={environments}"]
    training.append(f"--require-frameworks={','.join(required)}")
    return [
        Step(f"unit tests, FRESH_SEED={seed}", [*pytest, *fresh]),
        *(
            Step(f"e2e {provider}", ["env", f"FRESH_SEED={seed}", "make", "e2e", f"PROVIDER={provider}", "ARGS=-rs"])
            for provider in ("bare", "local")
        ),
        *(Step(f"training: {name}", [*training, "-m", f"framework(name='{name}')"]) for name in (*DEMOS, *LIBRARIES)),
        *(
            Step(
                f"upstream's own tests{of}",
                [sys.executable, "-m", "e2e.upstream", f"--environments={environments}", *more],
            )
            for of, more in (("", ()), (" of gangs", ("--gangs",)))
        ),
        *(Step(name, [sys.executable, "-m", f"e2e.{name}", *sizes]) for name, sizes in PROGRAMS.items()),
    ]


if __name__ == "__main__":
    sys.exit(run_all(steps(sys.argv[1], sys.argv[2:])))
