"""`training-operator migrate run`: the same job on v1 and on v2, with a witness of ranks, and the comparison."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import cloup

from training_migration.commands import flags, run_flags
from training_migration.commands.compare import CODES, shown
from training_migration.compare import Tolerance
from training_migration.compare import compare as compare_runs
from training_migration.exits import Exit, Failure
from training_migration.runs.record import RunRecord, to_json
from training_migration.runs.recording import BadPattern, Metric, record_of
from training_migration.runs.what import What
from training_migration.targets import Target


@cloup.command()
@flags.inputs
@flags.target
@run_flags.side
@click.option("--metric", "patterns", multiple=True, metavar="REGEX", help="Number in the logs: 'loss=([0-9.]+)'.")
@click.option(
    "--tolerance",
    type=click.FloatRange(min=0.0),
    help="Relative difference up to which metrics count as equal, for example 0.01. Default: they are not compared.",
)
@click.option(
    "--witness/--no-witness",
    default=None,
    help="Whether Python programs tell their rank: a module on PYTHONPATH watches the framework's initialisation. "
    "Default: here they do, on a cluster not.",
)
@run_flags.limit(600.0)
@click.option(
    "--settle",
    type=click.FloatRange(min=0.0),
    default=10.0,
    show_default=True,
    help="Seconds that pods which still run when the job has ended have to end too.",
)
@run_flags.place
@click.option("--records", type=click.Path(path_type=Path, file_okay=False), help="Folder for v1.json and v2.json.")
@flags.formats("text", "json", "markdown", "html")
@flags.output
@click.pass_context
def run(
    context: click.Context,
    /,
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
) -> None:
    """Run the job of PATH... on v1 and then on v2, and compare the two runs.

    PATH... hold one training job of v1, or one TrainJob with its runtime, or both, and what they need; without a
    TrainJob the v1 job is converted. On this machine this operator runs v1's side, and v2's pods are started as its
    controllers would make them. On a cluster what is created has a label of the run and is removed at the end, also
    after Ctrl-C.
    """
    try:
        metrics = [Metric.parse(each) for each in patterns]
    except BadPattern as error:
        raise Failure(f"{error}.", Exit.USAGE) from None
    where = run_flags.Place(**place)
    plan = run_flags.plan_of(paths, target, side, where.namespace_v2)
    what = What(watched(witness, where))
    seen = [record_of(each, metrics) for each in where.run(plan, what, limit, settle)]
    _keep(seen, records)
    if len(seen) == 1:
        flags.write(to_json(seen[0]).decode(), output)
        context.exit(run_flags.exit_of(seen[0]))
    comparison = compare_runs(*seen, tolerance=Tolerance(tolerance))
    flags.write(shown(comparison, style, terminal=output is None and sys.stdout.isatty()), output)
    context.exit(CODES[comparison.outcome])


def watched(asked: bool | None, where: run_flags.Place) -> bool:
    """Whether there is a witness: on this machine unless it is not wanted, on a cluster only if it is."""
    return where.where == run_flags.LOCAL if asked is None else asked


def _keep(seen: Sequence[RunRecord], folder: Path | None) -> None:
    if folder is None:
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for each in seen:
            (folder / f"{each.side}.json").write_bytes(to_json(each))
    except OSError as error:
        raise Failure(f"{folder}: cannot be written: {error.strerror}.", Exit.USAGE) from None
