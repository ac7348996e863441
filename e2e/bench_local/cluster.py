"""A whole local cluster: what it costs idle, and how fast it runs many small jobs to their end."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from e2e.harness.client import Api, connect

JOBS = "/apis/kubeflow.org/v1/namespaces/default/pytorchjobs"
TICK = os.sysconf("SC_CLK_TCK")
_PROGRAM = [sys.executable, "-c", "from training_operator.cli import main; main()", "local"]


def cpu_seconds(pid: int) -> float:
    """CPU seconds of a process so far, without its children."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def memory_mb(pid: int, field: str = "VmRSS") -> float:
    """Resident memory of a process: now, or at most so far (`VmHWM`)."""
    line = next(each for each in Path(f"/proc/{pid}/status").read_text().splitlines() if each.startswith(field))
    return int(line.split()[1]) / 1024


@dataclass(frozen=True, slots=True)
class Running:
    """A cluster that is up."""

    pid: int
    kubeconfig: Path


@contextmanager
def cluster(*flags: str) -> Iterator[Running]:
    """`training-operator local up`, until the end of the context."""
    name = f"bench-{os.getpid()}"
    command = [*_PROGRAM, "up", "--name", name, "--json", *flags]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout
            said = json.loads(process.stdout.readline())
            yield Running(process.pid, Path(said["kubeconfig"]))
        finally:
            process.terminate()
            process.wait(60)


def idle(running: Running, seconds: float) -> dict[str, float]:
    """Share of one core and memory of a cluster without work."""
    before = cpu_seconds(running.pid)
    time.sleep(seconds)
    return {"cpu_percent": (cpu_seconds(running.pid) - before) / seconds * 100, "memory_mb": memory_mb(running.pid)}


def _job(name: str, replicas: int) -> dict[str, Any]:
    container = {"name": "pytorch", "image": "none", "command": ["true"]}

    def group(count: int) -> dict[str, Any]:
        return {"replicas": count, "restartPolicy": "Never", "template": {"spec": {"containers": [container]}}}

    groups = {"Master": group(1), **({"Worker": group(replicas - 1)} if replicas > 1 else {})}
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {"name": name},
        "spec": {"runPolicy": {"cleanPodPolicy": "None"}, "pytorchReplicaSpecs": groups},
    }


async def _run_jobs(kubeconfig: Path, jobs: int, replicas: int) -> dict[str, int]:
    ended: dict[str, str] = {}

    async def follow(api: Api) -> None:
        async for event in api.watch(JOBS):
            for condition in event["object"].get("status", {}).get("conditions", ()):
                if condition["type"] in ("Succeeded", "Failed") and condition["status"] == "True":
                    ended[event["object"]["metadata"]["name"]] = condition["type"]
            if len(ended) == jobs:
                return

    async with connect(kubeconfig) as api:
        following = asyncio.create_task(follow(api))
        for number in range(jobs):
            await api.create(JOBS, _job(f"job-{number}", replicas))
        await asyncio.wait_for(following, 600)
    return {outcome: list(ended.values()).count(outcome) for outcome in ("Succeeded", "Failed")}


def run_jobs(running: Running, jobs: int, replicas: int) -> dict[str, float]:
    """Run trivial jobs to their end; the floor is to start as many processes, two at a time."""
    begun, before = time.monotonic(), cpu_seconds(running.pid)
    outcomes = asyncio.run(_run_jobs(running.kubeconfig, jobs, replicas))
    took, cpu = time.monotonic() - begun, cpu_seconds(running.pid) - before
    return {
        "seconds": took,
        "cpu_seconds": cpu,
        "peak_memory_mb": memory_mb(running.pid, "VmHWM"),
        "floor_seconds": _floor(jobs * replicas),
        **outcomes,
    }


def _floor(processes: int) -> float:
    begun = time.monotonic()
    for _ in range(processes // 2):
        pair = [subprocess.Popen(["true"]), subprocess.Popen(["true"])]
        for each in pair:
            each.wait()
    return time.monotonic() - begun
