"""`training-operator local up`."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from training_local.cluster.detached import Detached
from training_local.cluster.image_programs import ImagePrograms
from training_local.cluster.local_cluster import ClusterOptions, LocalCluster
from training_local.cluster.pythons import PACKAGES, Python, choose
from training_local.cluster.sandbox_mode import SandboxMode
from training_local.durations import since_command
from training_local.node.egress.mode import NetworkMode
from training_local.verbs.finish import finish

LOG = "log"
"""In the folder of a cluster in the background: what it would print."""


def up(
    *,
    name: str,
    detach: bool,
    data: Path | None,
    port: int,
    kubeconfig: Path | None,
    as_json: bool,
    python: Path | None,
    sandbox: str,
    network: str,
    allow_missing_mounts: bool,
    images: ImagePrograms,
    cpus: int | None,
    memory: str,
    gpus: int | None,
) -> None:
    """Start a cluster and keep it until Ctrl-C, or in the background."""
    detached = Detached.enter() if detach else None
    options = ClusterOptions(
        python, SandboxMode(sandbox), name, port, kubeconfig, data, gpus, cpus, memory, allow_missing_mounts, images
    )
    finish(_up(replace(options, network=NetworkMode(network)), as_json, detached))


async def _up(options: ClusterOptions, as_json: bool, detached: Detached | None) -> int:
    python = choose(options.python, [*PACKAGES], os.environ)
    async with LocalCluster(replace(options, python=python.path)) as cluster:
        if as_json:
            print(json.dumps(_description(cluster)), flush=True)
        else:
            _say(cluster, python, detached)
        if detached:
            detached.let_go(cluster.folder / LOG)
        with suppress(asyncio.CancelledError):
            await asyncio.get_running_loop().create_future()
    return 0


def _description(cluster: LocalCluster) -> dict[str, str | int]:
    record = cluster.record
    return {"name": record.name, "kubeconfig": str(cluster.kubeconfig), "url": record.url, "pid": record.pid}


def _say(cluster: LocalCluster, python: Python, detached: Detached | None) -> None:
    if sys.stdout.isatty():
        say_up(cluster, python)
        if detached:
            print(f"It runs in the background; `training-operator local down {cluster.record.name}` ends it.")
        else:
            print("Ctrl-C ends the cluster and everything that runs in it; in another shell:")
    print(f"export KUBECONFIG={shlex.quote(str(cluster.kubeconfig))}", flush=True)


def say_up(cluster: LocalCluster, python: Python) -> None:
    """Say how fast the cluster came up, how it keeps pods apart, and what they run."""
    print(f"The cluster is up after {since_command():.1f} s.")
    print(*cluster.sandbox_notes, python.sentence, sep="\n", flush=True)
