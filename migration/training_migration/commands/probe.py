"""`training-operator migrate probe`: whether the pods of a job know and reach each other, without training anything."""

from __future__ import annotations

from typing import Any

import click
import cloup

from training_migration.choices import PROBE_SECONDS
from training_migration.commands import flags, run_flags


@cloup.command()
@flags.inputs
@flags.target
@run_flags.side
@click.option(
    "--seconds",
    type=click.FloatRange(min=1.0),
    default=PROBE_SECONDS,
    show_default=True,
    help="How long pods wait for each other.",
)
@run_flags.limit(120.0)
@click.option("--changed-scripts", is_flag=True, help="The script reads v2's own variables where v1's are not there.")
@run_flags.place
@flags.formats("text", "json")
@flags.output
def probe(**options: Any) -> None:
    """Test rendezvous and DNS of the pods of the job in PATH... on v1 and on v2, without training.

    Each pod reports its rank, resolves the names of its peers, and connects to the port of rank 0. PATH... are as for
    `migrate run`. It succeeds if all pods have connected on the sides that were run.
    """
    flags.carry_out("training_migration.verbs.probe:probe", options)
