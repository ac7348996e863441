"""`training-operator migrate render`: the objects and pods that v1's operator and v2's controllers make of jobs."""

from __future__ import annotations

from typing import Any

import click
import cloup

from training_migration.commands import flags


@cloup.command()
@flags.inputs
@flags.target
@flags.kubernetes
@click.option(
    "--side",
    type=click.Choice(["own", "v1", "v2", "both"]),
    default="own",
    help="Which side to show: that of each job as it is, or jobs of v1 as they are, converted, or both.",
)
@click.option("--as-process", is_flag=True, help="Show what each process is started with: command and environment.")
@flags.operator
@flags.formats("yaml", "json")
@flags.output
def render(**options: Any) -> None:
    """Render the objects and pods that the controllers create for the jobs in PATH (files, folders, - for stdin).

    v1 jobs are rendered by the operator's own code, TrainJobs like v2's controllers do, with the runtimes in PATH or
    those that v2 ships; v1 jobs come first. Secrets and values that look like credentials are masked: the output is
    for reading. Invalid documents are reported, and the others are rendered.
    """
    flags.carry_out("training_migration.verbs.render:render", options)
