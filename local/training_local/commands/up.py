"""`training-operator local up`."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path

import click
import cloup

from training_local.cluster import ClusterOptions, LocalCluster, SandboxMode
from training_local.commands.finish import finish
from training_local.commands.flags import cluster_flags


@cloup.command()
@click.option("--kubeconfig", type=click.Path(path_type=Path), help="Where to write it. Default: a private folder.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Port on the loopback; 0 takes a free one.")
@cluster_flags
def up(kubeconfig: Path | None, port: int, python: Path | None, sandbox: str) -> None:
    """Start a cluster and keep it until Ctrl-C; prints the kubeconfig to use."""
    finish(_up(ClusterOptions(python, SandboxMode(sandbox), serve=True, port=port, kubeconfig=kubeconfig)))


async def _up(options: ClusterOptions) -> int:
    async with LocalCluster(options) as cluster:
        say_up(cluster)
        print(f"In another shell: export KUBECONFIG={cluster.kubeconfig}")
        print("Ctrl-C ends the cluster and everything that runs in it.", flush=True)
        with suppress(asyncio.CancelledError):
            await asyncio.get_running_loop().create_future()
    return 0


def say_up(cluster: LocalCluster) -> None:
    """Say how fast the cluster came up and how it keeps pods apart."""
    print(f"The cluster is up after {cluster.started_in:.1f} s.")
    print(*cluster.sandbox_notes, sep="\n", flush=True)
