"""`training-operator local status`: what runs, and how to reach it."""

from __future__ import annotations

from typing import Any

import click
import cloup

from training_local.commands.completion import clusters
from training_operator.lazy_commands import carry_out


@cloup.command()
@click.argument("name", required=False, shell_complete=clusters)
@click.option("--json", "as_json", is_flag=True, help="Print JSON; the default if the output is not a terminal.")
def status(**options: Any) -> None:
    """Show the running clusters, or the one called NAME.

    On a terminal it is a table, through a pipe JSON: a list, or one object for NAME. The exit status is 1 if the
    cluster NAME is not running.
    """
    carry_out("training_local.verbs.status:status", **options)
