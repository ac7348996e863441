"""`training-operator local down`: end a running cluster."""

from __future__ import annotations

from typing import Any

import click
import cloup

from training_local.commands.completion import clusters
from training_operator.lazy_commands import carry_out


@cloup.command()
@click.argument("name", required=False, shell_complete=clusters)
@click.option(
    "--all", "everything", is_flag=True, help="Stop all clusters of this user, including those of `local run`."
)
def down(**options: Any) -> None:
    """Stop the cluster NAME with all its pods, and wait until it has exited.

    Without NAME it stops the only running cluster, else the one called `default`. The exit status is 0 also if there
    is nothing to end.
    """
    carry_out("training_local.verbs.down:down", **options)
