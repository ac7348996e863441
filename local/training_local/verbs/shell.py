"""`training-operator local shell`: a shell inside a running pod."""

from __future__ import annotations

import os
import sys
from typing import Any

from training_local.cluster.connection import ClusterChoice, connect
from training_local.errors import innermost
from training_local.execution import terminal
from training_local.execution.client import Execution
from training_local.run.exec import container_of, execute_in, shell_command
from training_local.run.targets import chosen_pod, contents
from training_local.verbs.finish import EXIT_FAILED, finish


def shell(*, pod: str, command: tuple[str, ...], container: str, **choice: Any) -> None:
    """Open a shell in a running pod, or run a command there: local shell worker-0 -- nvidia-smi."""
    finish(_shell(pod, command, container, ClusterChoice(**choice)))


async def _shell(text: str, command: tuple[str, ...], container: str, choice: ClusterChoice) -> int:
    status = EXIT_FAILED
    try:
        async with connect(choice) as cluster:
            pod = chosen_pod(text, await contents(cluster.transport, choice.searched))
            tty = terminal.interactive()
            execution = Execution(
                pod.namespace,
                pod.replica.pod,
                container_of(pod, container),
                command or shell_command(os.environ),
                stdin=tty or not sys.stdin.isatty(),  # `... -- ps | less` must leave the keys to less
                tty=tty,
            )
            status = await execute_in(cluster.config, execution)
    except* OSError as group:
        print(f"training-operator local: {innermost(group)}", file=sys.stderr)
    return status
