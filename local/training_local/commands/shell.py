"""`training-operator local shell`: a shell inside a running pod."""

from __future__ import annotations

import os
import sys

import click
import cloup

from training_local import terminal
from training_local.commands.finish import EXIT_FAILED, finish
from training_local.overview import access, connected
from training_local.registry import find
from training_local.shell import Execution, container_of, execute, shell_command
from training_local.targets import chosen_pod, contents


@cloup.command()
@click.argument("pod", metavar="POD")
@click.argument("command", nargs=-1)
@click.option("--name", help="The cluster. Default: the only one that is running.")
@click.option("--namespace", "-n", help="Where to look. Default: in all namespaces.")
@click.option("--container", "-c", default="", help="Default: the one that trains.")
def shell(*, pod: str, command: tuple[str, ...], name: str | None, namespace: str | None, container: str) -> None:
    """Open a shell in a running pod, or run a command there: local shell worker-0 -- nvidia-smi.

    POD is the name of a pod, or of a replica as in worker-0, or as in JOB/worker-0 if several jobs have one. The shell
    is that of $SHELL, else bash or sh; its exit status becomes the one of this program.
    """
    finish(_shell(pod, command, name, namespace, container))


async def _shell(
    text: str, command: tuple[str, ...], cluster: str | None, namespace: str | None, container: str
) -> int:
    record, status = find(cluster), EXIT_FAILED
    try:
        async with connected(record) as transport:
            pod = chosen_pod(text, await contents(transport, namespace))
        tty = terminal.interactive()
        execution = Execution(
            pod,
            container_of(pod, container),
            command or shell_command(os.environ),
            tty=tty,
            stdin=tty or not sys.stdin.isatty(),  # `... -- ps | less` must leave the keys to less
        )
        status = await execute(access(record), execution)
    except* OSError as group:
        print(f"training-operator local: {group.exceptions[0]}", file=sys.stderr)
    return status
