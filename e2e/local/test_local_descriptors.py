"""The local cluster where few files may be open: `make e2e PROVIDER=local`."""

from __future__ import annotations

import asyncio
import socket
from contextlib import ExitStack, suppress
from pathlib import Path
from urllib.parse import urlsplit

import yaml
from e2e.harness.client import connect, eventually
from e2e.local.many_pods import JOBS, NAMESPACE, cluster_under, delete, sleepers, until_all_run
from e2e.support import marks

pytestmark = marks.local  # about the local cluster

MANY, FEW_FILES = 100, 256
"""A pod takes three files of the node, and something of everything that it has in common with others."""


def printed(folder: Path, pod: str) -> str:
    [log] = folder.glob(f"state/clusters/*/node/pods/*_{pod}_*/jax/0.log")
    return log.read_text()


async def test_many_pods_run_at_a_small_soft_limit_which_they_have_themselves(tmp_path: Path) -> None:
    with cluster_under(f"ulimit -Sn {FEW_FILES}", tmp_path) as cluster:
        async with connect(cluster.kubeconfig) as api:
            await api.create(JOBS, sleepers(MANY))
            await until_all_run(api, MANY)
        assert printed(tmp_path, "little-worker-7").endswith(f"stdout F {FEW_FILES}\n")


async def test_pods_beyond_the_hard_limit_wait_and_the_cluster_goes_on(tmp_path: Path) -> None:
    with cluster_under(f"ulimit -n {FEW_FILES}", tmp_path) as cluster:
        async with connect(cluster.kubeconfig) as api:
            await api.create(JOBS, sleepers(MANY))

            async def recorded() -> bool:
                events = await api.get(f"{NAMESPACE}/events") or {"items": []}
                return any("Too many open files" in each["message"] for each in events["items"])

            await eventually(recorded, "an event about too many open files")
            await delete(api)


async def test_connections_without_a_token_do_not_end_the_cluster(tmp_path: Path) -> None:
    with cluster_under(f"ulimit -n {FEW_FILES}", tmp_path) as cluster, ExitStack() as opened:
        server = yaml.safe_load(cluster.kubeconfig.read_text())["clusters"][0]["cluster"]["server"]
        address = urlsplit(server)
        for _ in range(2 * FEW_FILES):
            with suppress(OSError):
                opened.enter_context(socket.create_connection((address.hostname, address.port), timeout=1))
        async with connect(cluster.kubeconfig) as api, asyncio.timeout(20):
            await api.create(JOBS, sleepers(1))
            await until_all_run(api, 1)
