"""`training-operator local up`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import cloup

from training_local.commands.flags import cluster_flags, resource_flags
from training_operator.lazy_commands import carry_out


@cloup.command()
@click.option(
    "--name", default="default", show_default=True, help="Name of the cluster; several can run at the same time."
)
@click.option("--detach", is_flag=True, help="Return when the cluster is up; `local down` stops it.")
@click.option(
    "--data",
    type=click.Path(path_type=Path, file_okay=False),
    help="Store objects and logs in this folder; the next cluster with this folder restores them.",
)
@click.option(
    "--port", type=click.IntRange(0, 65535), default=0, help="Port on the loopback interface; 0 selects a free one."
)
@click.option(
    "--kubeconfig",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Also write the kubeconfig to FILE; never replaces another file. Default: the cluster's private folder only.",
)
@click.option(
    "--console/--no-console",
    default=None,
    help="Show its jobs in a browser, see `training-operator console`. Default: on a terminal, where it is installed.",
)
@click.option("--json", "as_json", is_flag=True, help="Print name, kubeconfig, url and pid as JSON.")
@cluster_flags
@resource_flags
def up(**options: Any) -> None:
    """Start a cluster and keep it until Ctrl-C, or in the background.

    Through a pipe it prints only the line that sets KUBECONFIG, so that a shell can have it at once:
    eval "$(training-operator local up --detach)".
    """
    carry_out("training_local.verbs.up:up", **options)
