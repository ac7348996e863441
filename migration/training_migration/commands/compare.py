"""`training-operator migrate compare`: whether two recorded runs were the same training."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import cloup

from training_migration.choices import SLOWER
from training_migration.commands import flags


@cloup.command()
@click.argument("v1_run", type=click.Path(path_type=Path))
@click.argument("v2_run", type=click.Path(path_type=Path))
@flags.tolerance
@click.option(
    "--slower",
    type=click.FloatRange(min=1.0),
    default=SLOWER,
    show_default=True,
    help="Factor between the durations from which on there is a remark.",
)
@flags.formats("text", "json", "markdown", "html")
@flags.output
def compare(**options: Any) -> None:
    """Compare the recorded runs V1_RUN and V2_RUN, two JSON files that `migrate run` has written."""
    flags.carry_out("training_migration.verbs.compare:compare", options)
