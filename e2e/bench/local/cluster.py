"""A whole local cluster: what it costs idle, and how fast it runs many small jobs to their end."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from e2e.harness.client import Api, connect
from e2e.harness.usage import cpu_seconds, memory_mb

JOBS = "/apis/kubeflow.org/v1/namespaces/default/pytorchjobs"
LONGEST = 300.0
"""Seconds after which a run is given up."""
_PROGRAM = [sys.executable, "-c", "from training_operator.cli import main; main()", "local"]


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
    """A job without master: workers of one with a master wait for its name, and a master that runs `true` has none."""
    container = {"name": "pytorch", "image": "none", "command": ["true"]}
    workers = {"replicas": replicas, "restartPolicy": "Never", "template": {"spec": {"containers": [container]}}}
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {"name": name},
        "spec": {"runPolicy": {"cleanPodPolicy": "None"}, "pytorchReplicaSpecs": {"Worker": workers}},
    }


async def _followed(api: Api, path: str, count: int, outcome: Callable[[dict[str, Any]], str]) -> dict[str, int]:
    """Follow a collection until `count` objects have an outcome; returns how many have which."""
    ended: dict[str, str] = {}
    async for event in api.watch(path):
        if found := outcome(event["object"].get("status", {})):
            ended[event["object"]["metadata"]["name"]] = found
        if len(ended) == count:
            break
    return {each: list(ended.values()).count(each) for each in ("Succeeded", "Failed")}


def _of_job(status: dict[str, Any]) -> str:
    true = [each["type"] for each in status.get("conditions", ()) if each["status"] == "True"]
    return next((each for each in true if each in ("Succeeded", "Failed")), "")


def _of_pod(status: dict[str, Any]) -> str:
    phase = status.get("phase", "")
    return phase if phase in ("Succeeded", "Failed") else ""


async def _run_jobs(kubeconfig: Path, jobs: int, replicas: int) -> dict[str, int]:
    async with connect(kubeconfig) as api, asyncio.timeout(LONGEST), asyncio.TaskGroup() as tasks:
        ended = tasks.create_task(_followed(api, JOBS, jobs, _of_job))
        pods = tasks.create_task(_followed(api, "/api/v1/pods", jobs * replicas, _of_pod))
        for number in range(jobs):
            await api.create(JOBS, _job(f"job-{number}", replicas))
    return {"jobs": ended.result()["Succeeded"], "pods": pods.result()["Succeeded"]}


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
