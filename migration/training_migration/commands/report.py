"""`training-operator migrate report`: the results of the other verbs in one document."""

from __future__ import annotations

from typing import Any

import click
import cloup

from training_migration.choices import REPORT_FORMATS
from training_migration.commands import flags


@cloup.command()
@click.argument("results", nargs=-1, required=True, metavar="RESULT...")
@click.option(
    "--format",
    "style",
    type=click.Choice(list(REPORT_FORMATS)),
    help="What to write. Default: what the name of the output says, else markdown.",
)
@flags.output
def report(**options: Any) -> None:
    """Merge RESULT..., JSON output of other commands (- for standard input), into one document.

    Results of `survey`, `lint`, `diff`, `probe`, `verify` and `compare` can be merged, in the order in which they are
    given. The page is one file that needs nothing else. The exit status says only whether the results could be read.
    """
    flags.carry_out("training_migration.verbs.report:report", options)
