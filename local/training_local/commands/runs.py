"""`training-operator local runs`: the runs that were kept."""

from __future__ import annotations

from typing import Any

import click
import cloup

from training_operator.lazy_commands import carry_out


@cloup.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON; the default if the output is not a terminal.")
def runs(**options: Any) -> None:
    """Show the recorded runs, the newest first.

    On a terminal it is a table, through a pipe JSON. `training-operator local logs --run RUN` prints the logs of one.
    """
    carry_out("training_local.verbs.runs:runs", **options)
