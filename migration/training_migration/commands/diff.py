"""`training-operator migrate diff`: compares the pods that v1 and v2 create for a job."""

from __future__ import annotations

from typing import Any

import click
import cloup

from training_migration.commands import flags


@cloup.command()
@click.argument("v1")
@click.argument("v2", required=False)
@flags.target
@flags.operator
@click.option("--all", "everything", is_flag=True, help="Show equal values, too.")
@flags.fail_on
@flags.formats("text", "json", "markdown", "html")
@flags.output
def diff(**options: Any) -> None:
    """Compare the pods of the v1 jobs in V1 with the pods of the TrainJobs in V2.

    Both are files, folders or `-`; without V2 the jobs are converted first. Jobs are paired by namespace and name.
    Severities: `error` if the training differs, `warning` if the life cycle differs in some situation, else `info`.
    Invalid documents are reported, and the others are compared.
    """
    flags.carry_out("training_migration.verbs.diff:diff", options)
