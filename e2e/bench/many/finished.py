"""An operator that starts in a cluster full of finished pods."""

from __future__ import annotations

import asyncio
import contextlib
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from e2e.bench.many.clean import new_namespace
from e2e.bench.many.etcd import Etcd, copy
from e2e.bench.many.stage import Stage
from e2e.harness.bare import ControlPlane
from e2e.harness.client import Api, Object, eventually
from e2e.harness.cluster import Cluster
from e2e.harness.floor import fast_client
from e2e.harness.jobs import job
from e2e.harness.operator import Operator, running_operator
from e2e.harness.usage import cpu_at_rest, memory_mb

from training_api.registry import KINDS
from training_operator.kube.errors import ServerTimeout
from training_operator.kube.resources import PODS, SERVICES, Resource, jobs

PER_JOB = 100
LONGEST_START = 120.0
LOADING = 300.0
"""Seconds that the API server may take to notice what is in etcd."""


@dataclass(frozen=True, slots=True)
class Start:
    """The figures of one start."""

    synced_s: float
    """From the start of the process until its probe says ready."""
    synced_mb: float
    settled_mb: float
    """Once all jobs have been looked at."""
    peak_mb: float
    cpu_s: float
    """Used until then."""


async def fill(plane: ControlPlane, api: Api, folder: Path, pods: int) -> None:
    """Let one job finish for real, and copy it until there are so many pods."""
    namespace, name = await new_namespace(api, "finished"), "done-00000"
    with running_operator(plane.cluster.kubeconfig, folder / "operator-first.log") as operator:
        async with fast_client(plane.cluster) as client:
            stage = Stage(client, namespace)
            async with stage.watched():
                await stage.create_jobs([job(name, Master=1, Worker=PER_JOB - 1)])
                await stage.until(lambda: len(stage.pods) == PER_JOB, "all pods")
                await stage.run("Running")
                await stage.run("Succeeded")
        await cpu_at_rest(operator.child.pid)
    places = ("kubeflow.org/pytorchjobs", "pods", "services/specs")
    prefixes = [f"/registry/{place}/{namespace}/" for place in places]
    others = [f"done-{number:05}" for number in range(1, pods // PER_JOB)]
    await copy(Etcd(plane.etcd), prefixes, name, others)

    async def noticed() -> bool:
        return await count(api, f"/api/v1/namespaces/{namespace}/pods") >= len(others) * PER_JOB

    await eventually(noticed, f"{pods} pods", LOADING, 1.0)


async def floor(cluster: Cluster) -> float:
    """Seconds in which the operator's client receives what a start begins with, and keeps nothing."""

    async def receive(resource: Resource[Any]) -> None:
        while True:
            with contextlib.suppress(ServerTimeout):  # the server has not caught up with etcd yet
                async with client.watch(resource, version="", initial=True) as events:
                    async for event in events:
                        if event.metadata.ends_initial_events:
                            return

    async with fast_client(cluster) as client:
        begun = time.perf_counter()
        await asyncio.gather(receive(PODS), receive(SERVICES), receive(jobs(KINDS["PyTorchJob"])))
        return time.perf_counter() - begun


async def start(cluster: Cluster, log: Path) -> Start:
    """Start an operator, and measure until it has nothing to do any more."""
    begun = time.perf_counter()
    operator = Operator(cluster.kubeconfig, log)
    try:
        await asyncio.to_thread(operator.wait_ready, LONGEST_START)
        synced, pid = time.perf_counter() - begun, operator.child.pid
        synced_mb = memory_mb(pid)
        cpu = await cpu_at_rest(pid)
        return Start(synced, synced_mb, memory_mb(pid), memory_mb(pid, "VmHWM"), cpu)
    finally:
        operator.child.stop()


async def count(api: Api, path: str) -> int:
    """How many objects there are in a collection."""
    page: Object = await api.call("GET", f"{path}?limit=1")
    return len(page["items"]) + int(page["metadata"].get("remainingItemCount", 0))
