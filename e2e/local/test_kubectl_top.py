"""`kubectl top` shows what the node measures."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from e2e.harness.binaries import KUBECTLS, programs
from e2e.support import marks
from e2e.support.api_client import Client
from e2e.support.embedded import embedded

from training_local.apiserver.exec import ExecOptions, Execution
from training_local.apiserver.metrics_api import Amounts, Measurement
from training_local.apiserver.pods import Lines, LogOptions
from training_local.apiserver.portforward import Dial

pytestmark = marks.local  # a server of its own, once

Json = dict[str, Any]
USED = {"main": Amounts(1.5, 3 << 30, 30), "sidecar": Amounts(0.0204, 5 << 20, 30)}


class _Node:
    """A node on which everything uses the same all the time."""

    def __init__(self) -> None:
        self.pods: dict[str, dict[str, Amounts]] = {}

    def usage(self) -> Measurement:
        return Measurement(datetime.now(UTC), Amounts(2, 8 << 30, 90), self.pods)

    def lines(self, pod: Json, options: LogOptions) -> Lines:
        raise NotImplementedError  # nothing is logged in these tests

    def execution(self, pod: Json, options: ExecOptions) -> Execution:
        raise NotImplementedError  # nor executed

    def dial(self, pod: Json) -> Dial:
        raise NotImplementedError  # nor connected


@asynccontextmanager
async def busy_cluster(folder: Path) -> AsyncIterator[Path]:
    """A server with a node of 8 processors and 32 GiB and one pod of two containers."""
    async with embedded(folder) as (server, kubeconfig):
        node, client = _Node(), Client(server)
        server.attach_node(node)
        resources = {"cpu": "8", "memory": "32Gi"}
        await client.create("/api/v1/nodes", "local", status={"capacity": resources, "allocatable": resources})
        containers = [{"name": name, "image": "none"} for name in USED]
        pod = await client.create("/api/v1/namespaces/default/pods", "trainer", spec={"containers": containers})
        node.pods[pod["metadata"]["uid"]] = USED
        yield kubeconfig


@pytest.mark.parametrize("minor", KUBECTLS)
async def test_top(minor: str, tmp_path: Path) -> None:
    async with busy_cluster(tmp_path) as kubeconfig:

        async def top(*arguments: str) -> list[list[str]]:
            command = (str(programs()[KUBECTLS[minor]]), f"--kubeconfig={kubeconfig}", f"--cache-dir={tmp_path}", "top")
            process = await asyncio.create_subprocess_exec(*command, *arguments, stdout=asyncio.subprocess.PIPE)
            printed, _ = await process.communicate()
            return [line.split() for line in printed.decode().splitlines()[1:]]

        assert await top("pod") == [["trainer", "1521m", "3077Mi"]]
        assert sorted(await top("pod", "trainer", "--containers")) == [
            ["trainer", "main", "1500m", "3072Mi"],
            ["trainer", "sidecar", "21m", "5Mi"],
        ]
        assert await top("node") == [["local", "2000m", "25%", "8192Mi", "25%"]]
