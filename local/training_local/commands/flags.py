"""Flags that several commands share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import click

from training_api import quantity
from training_local.cluster.sandbox_mode import SandboxMode
from training_local.commands.completion import clusters
from training_local.errors import BadInput
from training_local.node.egress.mode import NetworkMode
from training_operator.lazy_commands import load

Command = Callable[..., None]
FRAMEWORKS: Final = ("jax", "pytorch", "tensorflow", "xgboost", "mpi", "paddle")
"""Of which there are examples."""
ARCHIVE_SIZE_VARIABLE: Final = "TRAINING_OPERATOR_ARCHIVE_SIZE"


def cluster_flags(command: Command) -> Command:
    """Add the flags that all commands have which start a cluster."""
    python = click.option(
        "--python",
        type=click.Path(path_type=Path),
        help="The `python` of pods. Default: the first that has the job's framework, of $VIRTUAL_ENV, $CONDA_PREFIX, "
        "python3 on the path, the Python of this program, and the system's.",
    )
    sandbox = click.option(
        "--sandbox",
        type=click.Choice([mode.value for mode in SandboxMode]),
        default=SandboxMode.AUTO.value,
        callback=lambda context, option, value: SandboxMode(value),
        show_default=True,
        help="How pods are isolated; auto selects the best available mode.",
    )
    missing = click.option(
        "--allow-missing-mounts",
        is_flag=True,
        help="In host mode, also run containers that cannot find their volumes.",
    )
    network = click.option(
        "--network",
        type=click.Choice([mode.value for mode in NetworkMode]),
        default=NetworkMode.CLUSTER.value,
        callback=lambda context, option, value: NetworkMode(value),
        show_default=True,
        help="What pods can reach. cluster: the Internet, but not this machine's loopback interface; proxy: the same, "
        "through http_proxy; host: the loopback interface too, as host.containers.internal; none: nothing. With all of "
        "them a pod has its own network; only with --sandbox host it has the machine's.",
    )
    images = click.option(
        "--image-program",
        "images",
        multiple=True,
        metavar="IMAGE=COMMAND",
        callback=_programs,
        help="The command of containers with this image and no command of their own; or a file with one pair per line.",
    )
    return python(sandbox(network(missing(images(command)))))


def _programs(_context: click.Context, option: click.Parameter, value: Sequence[str]) -> object:
    try:
        return load("training_local.cluster.image_programs:image_programs")(value) if value else {}
    except BadInput as error:
        raise click.BadParameter(str(error), param=option) from None


def _quantity(_context: click.Context, _option: click.Parameter, value: str) -> str:
    try:
        fits = not value or quantity.parse(value) > 0
    except ValueError:
        fits = False
    if not fits:
        raise click.BadParameter(f"{value!r} is not a quantity of bytes such as 64Gi")
    return value


def resource_flags(command: Command) -> Command:
    """Add the flags that pretend a larger or smaller machine."""
    offer = "of the node, also more than the machine has. Default: the machine's."
    cpus = click.option("--cpus", type=click.IntRange(1), help=f"CPUs {offer}")
    memory = click.option("--memory", default="", callback=_quantity, help=f"Memory {offer} For example 64Gi.")
    gpus = click.option(
        "--gpus",
        type=click.IntRange(0, 1024),
        help=f"GPUs {offer} More of them are only for tests of scheduling.",
    )
    return cpus(memory(gpus(command)))


def follow_flags(command: Command) -> Command:
    """Add the flags that all commands have which follow a job."""
    limit = click.option("--timeout", "limit", type=float, help="Give up after this many seconds (exit status 124).")
    as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON lines.")
    return limit(as_json(command))


def archive_flags(command: Command) -> Command:
    """Add the flags of commands whose runs are kept."""
    kept = click.option(
        "--archive/--no-archive", default=True, help="Record logs, events and statuses, for `local runs`. Default: yes."
    )
    size = click.option(
        "--archive-size",
        default="1Gi",
        show_default=True,
        show_envvar=True,
        envvar=ARCHIVE_SIZE_VARIABLE,
        callback=lambda context, option, value: int(quantity.parse(_quantity(context, option, value))),
        help="Disk space for all recorded runs; the oldest are deleted first.",
    )
    return kept(size(command))


def connection_flags(command: Command) -> Command:
    """Add the flags that all commands have which look into a running cluster."""
    name = click.option("--name", shell_complete=clusters, help="The cluster. Default: the only one that is running.")
    kubeconfig = click.option(
        "--kubeconfig",
        type=click.Path(path_type=Path, dir_okay=False),
        help="Kubeconfig of another cluster, whose current context is used.",
    )
    namespace = click.option(
        "--namespace", "-n", help="Where to look. Default: all; with --kubeconfig the one called default."
    )
    container = click.option(
        "--container", "-c", default="", show_default=False, help="Default: the training container."
    )
    return name(kubeconfig(namespace(container(command))))
