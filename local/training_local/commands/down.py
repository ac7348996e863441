"""`training-operator local down`: end a running cluster."""

from __future__ import annotations

from typing import Any

import click
import cloup

from training_local.commands.completion import clusters
from training_operator.lazy_commands import carry_out


@cloup.command()
@click.argument("name", required=False, shell_complete=clusters)
@click.option("--all", "everything", is_flag=True, help="End every cluster of this user, those of `local run` too.")
def down(**options: Any) -> None:
    """End the cluster NAME, with everything that runs in it, and wait until it has gone.

    Without NAME it is the only one that is running, else the one called `default`. The exit status is 0 also if there
    is nothing to end.
    """
    carry_out("training_local.verbs.down:down", **options)
