"""`training-operator migrate run`: the same job on v1 and on v2, with a witness of ranks, and the comparison."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import cloup

from training_migration.commands import flags, run_flags


@cloup.command()
@flags.inputs
@flags.target
@run_flags.side
@click.option("--metric", "patterns", multiple=True, metavar="REGEX", help="Number in the logs: 'loss=([0-9.]+)'.")
@flags.tolerance
@click.option(
    "--witness/--no-witness",
    default=None,
    help="Whether Python programs report their rank: a module on PYTHONPATH watches the framework's initialisation. "
    "Default: here they do, on a cluster not.",
)
@run_flags.limit(600.0)
@click.option(
    "--settle",
    type=click.FloatRange(min=0.0),
    default=10.0,
    show_default=True,
    help="Seconds to wait for pods that still run when the job has finished.",
)
@run_flags.place
@click.option("--records", type=click.Path(path_type=Path, file_okay=False), help="Folder for v1.json and v2.json.")
@flags.formats("text", "json", "markdown", "html")
@flags.output
def run(**options: Any) -> None:
    """Run the job of PATH... on v1 and then on v2, and compare the two runs.

    PATH... hold one training job of v1, or one TrainJob with its runtime, or both, and what they need; without a
    TrainJob the v1 job is converted. On this machine this operator runs v1's side, and v2's pods are started as its
    controllers would make them. On a cluster what is created has a label of the run and is removed at the end, also
    after Ctrl-C.
    """
    flags.carry_out("training_migration.verbs.run:run", options)
