"""`training-operator local shell`: a shell inside a running pod."""

from __future__ import annotations

from typing import Any

import click
import cloup

from training_local.commands.completion import pods
from training_local.commands.flags import connection_flags
from training_operator.lazy_commands import carry_out


@cloup.command()
@click.argument("pod", metavar="POD", shell_complete=pods)
@click.argument("command", nargs=-1)
@connection_flags
def shell(**options: Any) -> None:
    """Open a shell in a running pod, or run a command there: local shell worker-0 -- nvidia-smi.

    POD is the name of a pod, or of a replica as in worker-0, or as in JOB/worker-0 if several jobs have one. The shell
    is that of $SHELL, else bash or sh; its exit status becomes the one of this program.
    """
    carry_out("training_local.verbs.shell:shell", **options)
