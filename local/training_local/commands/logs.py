"""`training-operator local logs`: follow the logs of the replicas of a job, or of one pod."""

from __future__ import annotations

from typing import Any

import click
import cloup

from training_local.commands.completion import archived, targets
from training_local.commands.flags import connection_flags
from training_operator.lazy_commands import carry_out


@cloup.command()
@click.argument("target", required=False, metavar="[POD | JOB | KIND/NAME]", shell_complete=targets)
@connection_flags
@click.option("--follow", "-f", is_flag=True, help="Follow until the job has finished, including new replicas.")
@click.option("--tail", type=click.IntRange(min=0), help="Start with this many lines of each replica. Default: all.")
@click.option("--previous", "-p", is_flag=True, help="Logs of the attempt before the last restart.")
@click.option("--timestamps", is_flag=True, help="Print the time of each line.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON lines.")
@click.option(
    "--run", shell_complete=archived, help="Logs of a recorded run, or of the newest run of the job of this name."
)
def logs(**options: Any) -> None:
    """Print the logs of a job's replicas, or of one pod, ordered by time.

    Without a name it prints those of the only job. A replica can be called by its short name, as in worker-0. With
    --run it is every attempt of every replica of a run that `local runs` lists.
    """
    carry_out("training_local.verbs.logs:logs", **options)
