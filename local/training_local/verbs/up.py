"""`training-operator local up`."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import sys
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Unpack

from training_local.cluster.detached import Detached
from training_local.cluster.local_cluster import ClusterFlags, ClusterOptions, LocalCluster
from training_local.cluster.pythons import Pythons
from training_local.durations import since_command
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
    console: bool | None,
    as_json: bool,
    **flags: Unpack[ClusterFlags],
) -> None:
    """Start a cluster and keep it until Ctrl-C, or in the background."""
    detached = Detached.enter() if detach else None
    options = ClusterOptions(**flags, name=name, port=port, kubeconfig=kubeconfig, data=data)
    shown = console or (console is None and sys.stdout.isatty() and find_spec("jinja2") is not None)
    finish(_up(options, shown, as_json, detached))


async def _up(options: ClusterOptions, console: bool, as_json: bool, detached: Detached | None) -> int:
    pythons = Pythons(options.python, os.environ)
    options = replace(options, python=pythons.default.path, python_of_kind=pythons.choice)
    async with LocalCluster(options) as cluster, AsyncExitStack() as stack:
        if sys.stdout.isatty() and not as_json:
            say_up(cluster, *pythons.sentences())
        address = await stack.enter_async_context(_console(options.name)) if console else ""
        if as_json:
            print(json.dumps(_description(cluster) | ({"console": address} if console else {})), flush=True)
        else:
            _say(cluster, address, detached)
        if detached:
            detached.let_go(cluster.folder / LOG)
        with suppress(asyncio.CancelledError):
            await asyncio.get_running_loop().create_future()
    return 0


def _description(cluster: LocalCluster) -> dict[str, str | int]:
    record = cluster.record
    return {"name": record.name, "kubeconfig": str(cluster.kubeconfig), "url": record.url, "pid": record.pid}


@asynccontextmanager
async def _console(cluster: str) -> AsyncIterator[str]:
    """Run the console of a cluster inside the context; yields its address, or why there is none."""
    command = (sys.executable, "-m", "training_console", "--cluster", cluster, "--end-with-parent")
    child = await asyncio.create_subprocess_exec(*command, stdin=DEVNULL, stdout=PIPE, stderr=PIPE)
    assert child.stdout is not None and child.stderr is not None
    try:
        said = await child.stdout.readline()
        yield said.decode().strip() or (await child.stderr.read()).decode().strip().removeprefix("Error: ")
    finally:
        if child.returncode is None:
            child.terminate()
        await child.wait()


def _say(cluster: LocalCluster, console: str, detached: Detached | None) -> None:
    if console:
        print(f"Its jobs in a browser: {console}", file=sys.stdout if sys.stdout.isatty() else sys.stderr, flush=True)
    if sys.stdout.isatty():
        if detached:
            print(f"It runs in the background; `training-operator local down {cluster.record.name}` ends it.")
        else:
            print("Ctrl-C stops the cluster and all of its pods; in another shell:")
    print(f"export KUBECONFIG={shlex.quote(str(cluster.kubeconfig))}", flush=True)


def say_up(cluster: LocalCluster, *pythons: str) -> None:
    """Say how fast the cluster came up, how it keeps pods apart, and what they run."""
    print(f"The cluster is up after {since_command():.1f} s.")
    print(*cluster.sandbox_notes, *pythons, sep="\n", flush=True)
