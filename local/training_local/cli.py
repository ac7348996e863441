"""The group `training-operator local`; each command is a module of `commands`."""

from __future__ import annotations

import sys
from typing import Final

import click

from training_operator.lazy_commands import Lazy, LazyGroup

VERBS: Final = {
    name: Lazy(f"training_local.commands.{name}:{name}", said)
    for name, said in {
        "up": "Start a cluster and keep it until Ctrl-C, or in the background.",
        "status": "Show the running clusters, or the one called NAME.",
        "down": "Stop the cluster NAME with all its pods, and wait until it has exited.",
        "run": "Start a cluster, run the job of FILES in it, show its progress, and stop the cluster.",
        "demo": "Run an example that really trains, distributed over several processes.",
        "runs": "Show the recorded runs, the newest first.",
        "logs": "Print the logs of a job's replicas, or of one pod, ordered by time.",
        "forward": "Forward a port of a pod to this machine, as http://127.0.0.1:6006: local forward worker-0 6006.",
        "shell": "Open a shell in a running pod, or run a command there: local shell worker-0 -- nvidia-smi.",
    }.items()
}
ON_WINDOWS: Final = (
    "`local` starts processes as Linux and macOS do: on Windows it runs within WSL2 (`wsl --install`); `validate` and "
    "`migrate` run here as they are."
)


@click.group(cls=LazyGroup, lazy=VERBS)
def local() -> None:
    """Run training jobs in a Kubernetes of this process: no cluster, no container engine, no privileges."""
    if sys.platform == "win32":
        raise click.ClickException(ON_WINDOWS)
