"""`training-operator migrate run`: the same job on v1 and on v2, with a witness of ranks, and the comparison."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from training_migration.compare import Tolerance
from training_migration.compare import compare as compare_runs
from training_migration.exits import Exit, Failure
from training_migration.runs.record import RunRecord, to_json
from training_migration.runs.recording import BadPattern, Metric, record_of
from training_migration.runs.what import What
from training_migration.targets import Target
from training_migration.verbs import place as places
from training_migration.verbs.compare import CODES, shown
from training_migration.verbs.output import write


def run(
    *,
    paths: tuple[str, ...],
    target: Target,
    side: str,
    patterns: tuple[str, ...],
    tolerance: float | None,
    witness: bool | None,
    limit: float,
    settle: float,
    records: Path | None,
    style: str,
    output: Path | None,
    **place: Any,
) -> Exit:
    """Run the job of PATH... on v1 and then on v2, and compare the two runs."""
    try:
        metrics = [Metric.parse(each) for each in patterns]
    except BadPattern as error:
        raise Failure(f"{error}.", Exit.USAGE) from None
    where = places.Place(**place)
    plan = places.plan_of(paths, target, side, where.namespace_v2)
    what = What(watched(witness, where))
    seen = [record_of(each, metrics) for each in where.run(plan, what, limit, settle)]
    _keep(seen, records)
    if len(seen) == 1:
        write(to_json(seen[0]).decode(), output)
        return places.exit_of(seen[0])
    comparison = compare_runs(*seen, tolerance=Tolerance(tolerance))
    write(shown(comparison, style, terminal=output is None and sys.stdout.isatty()), output)
    return CODES[comparison.outcome]


def watched(asked: bool | None, where: places.Place) -> bool:
    """Whether there is a witness: on this machine unless it is not wanted, on a cluster only if it is."""
    return where.where == places.LOCAL if asked is None else asked


def _keep(seen: Sequence[RunRecord], folder: Path | None) -> None:
    if folder is None:
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for each in seen:
            (folder / f"{each.side}.json").write_bytes(to_json(each))
    except OSError as error:
        raise Failure(f"{folder}: cannot be written: {error.strerror}.", Exit.USAGE) from None
