"""Whether converted jobs train the same, with each framework's example on both sides.

`python -m e2e.migration.same_training`; arguments are names of cases, without any all are played. The environments are
those that `make train` makes.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import time
from pathlib import Path

import structlog
from e2e.harness.binaries import cache_folder
from e2e.migration.trained import ANY_HOSTS, GUARD, SEED, Case, converted, naive, play

from training_local.errors import BadInput
from training_migration.compare import Comparison, Outcome
from training_migration.report.columns import Table

ENVIRONMENTS = (Path(".cache", "demo"), cache_folder() / "demo")
CASES = {
    "jax": Case("jax", converted),
    "pytorch": Case("pytorch", converted),
    "pytorch-naive": Case("pytorch", naive),
    "pytorch-naive-guarded": Case("pytorch", naive, change=GUARD),
    "tensorflow": Case("tensorflow", converted),
    "tensorflow-ps": Case("tensorflow", converted, file="tensorflow/parameter-server.yaml", metrics=(), tolerance=None),
    "xgboost": Case("xgboost", converted),
    "mpi": Case("mpi", converted, change=ANY_HOSTS),
    "paddle": Case("paddle", converted, change=SEED),
}
EXPECTED = {"pytorch-naive": Outcome.DIFFERENT, "pytorch-naive-guarded": Outcome.DIFFERENT}
"""What must come out where it is not the same training."""


def environment(framework: str) -> Path | None:
    """The environment that has the framework; None for the usual Pythons of this machine."""
    folders = [folder / framework for folder in ENVIRONMENTS]
    return next((folder for folder in folders if (folder / "bin" / "python").exists()), None)


async def main(names: list[str]) -> int:
    """Play the cases and print a table; return 0 if every one came out as it must."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    rows, failed = [], False
    for name in names or CASES:
        begun, case = time.monotonic(), CASES[name]
        try:
            comparison = await play(case, environment(case.framework), lambda line: print(line, file=sys.stderr))
        except BadInput as error:
            rows.append((name, "skipped", "", "", str(error)))
            continue
        wrong = comparison.outcome is not EXPECTED.get(name, Outcome.EQUAL)
        failed |= wrong
        took = f"{time.monotonic() - begun:.0f} s"
        rows.append((name, "WRONG" if wrong else "ok", comparison.outcome, took, _summary(comparison)))
    print(Table(("case", "", "outcome", "time", "seen"), rows).plain())
    return int(failed)


def _summary(comparison: Comparison) -> str:
    ranks = [f"{row.v1} | {row.v2}" for row in comparison.rows if row.aspect == "ranks"]
    return "; ".join([*ranks, comparison.headline])


if __name__ == "__main__":
    sys.exit(asyncio.run(main(sys.argv[1:])))
