"""`training-operator local forward`: a port of a pod on this machine."""

from __future__ import annotations

from typing import Any

import click
import cloup

from training_local.commands.completion import pods
from training_local.commands.flags import connection_flags
from training_operator.lazy_commands import carry_out


@cloup.command()
@click.argument("pod", metavar="POD", shell_complete=pods)
@click.argument("ports", metavar="PORT")
@click.option("--open", "open_browser", is_flag=True, help="Open it in the browser, as soon as the port is open.")
@connection_flags
def forward(**options: Any) -> None:
    """Forward a port of a pod to this machine until Ctrl-C: local forward worker-0 6006, then http://127.0.0.1:6006.

    POD is the name of a pod, or of a replica as in worker-0. PORT is that of the pod's localhost, and the same here;
    8080:6006 makes it 8080 here, :6006 any free port. Only this machine can connect.
    """
    carry_out("training_local.verbs.forward:forward", **options)
