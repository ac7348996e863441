"""The group `training-operator local`; each command is a module of `commands`."""

from __future__ import annotations

import cloup

from training_local.commands.demo import demo
from training_local.commands.down import down
from training_local.commands.logs import logs
from training_local.commands.run import run
from training_local.commands.shell import shell
from training_local.commands.status import status
from training_local.commands.up import up


@cloup.group()
def local() -> None:
    """Run training jobs in a Kubernetes of this process: no cluster, no container engine, no privileges."""


for _command in (up, status, down, run, demo, logs, shell):
    local.add_command(_command)
