"""`training-operator local run`: one job in a cluster of its own, followed to its end."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import click
import cloup

from training_local.commands.flags import FRAMEWORKS, archive_flags, cluster_flags, follow_flags, resource_flags
from training_operator.lazy_commands import carry_out

_SCRIPT_ARGUMENTS: Final = "training_local.script_arguments"


class _RunCommand(cloup.Command):
    """Keeps what follows `--` for the script."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        at = args.index("--") if "--" in args else len(args)
        ctx.meta[_SCRIPT_ARGUMENTS] = args[at + 1 :]
        return super().parse_args(ctx, args[:at])


@cloup.command(cls=_RunCommand)
@click.argument("files", nargs=-1, required=True, type=click.Path(allow_dash=True, path_type=Path))
@cluster_flags
@resource_flags
@follow_flags
@archive_flags
@click.option("--namespace", "-n", help="Namespace of objects without one. Default: default.")
@click.option("--workers", type=click.IntRange(1), help="Replicas that run the script. Default: 1.")
@click.option(
    "--framework", type=click.Choice(FRAMEWORKS), help="Framework of the script. Default: the one that it imports."
)
@click.option(
    "--save", type=click.Path(path_type=Path), help="Write the job of the script to this file, for a cluster."
)
@click.option(
    "--patience",
    type=click.FloatRange(0),
    default=10.0,
    show_default=True,
    help="Give up when the job has waited for a missing prerequisite for this many seconds (exit status 2).",
)
@click.option("--scale-resources", is_flag=True, help="Scale requests of CPU and memory down until all pods fit.")
@click.option("--keep", is_flag=True, help="Keep the cluster after the job has finished, for kubectl, until Ctrl-C.")
def run(**options: Any) -> None:
    """Start a cluster, run the job of FILES in it, show its progress, and stop the cluster.

    FILES are YAML with one training job and the objects it needs; - is standard input. Or one script, train.py, which
    becomes a job of --workers processes; what follows -- are its arguments. The exit status is 0 if the job Succeeded,
    1 if it Failed.
    """
    arguments = click.get_current_context().meta[_SCRIPT_ARGUMENTS]
    carry_out("training_local.verbs.run:run", arguments=arguments, **options)
