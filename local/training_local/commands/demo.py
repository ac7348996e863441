"""`training-operator local demo`: an example of this project, in a cluster of its own."""

from __future__ import annotations

from typing import Any

import click
import cloup

from training_local.commands.flags import FRAMEWORKS, archive_flags, cluster_flags, follow_flags
from training_operator.lazy_commands import carry_out


@cloup.command()
@click.option("--framework", default="jax", show_default=True, type=click.Choice(FRAMEWORKS))
@cluster_flags
@follow_flags
@archive_flags
def demo(**options: Any) -> None:
    """Run an example that really trains, distributed over several processes."""
    carry_out("training_local.verbs.demo:demo", **options)
