"""`python -m e2e.bench.local`: creates and watch events per second, and a whole cluster at rest and at work.

Clients are processes of their own. The floor is a server on the same HTTP library that answers every request with the
same JSON, so a ratio to it tells what the API itself costs.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from e2e.bench.local.cluster import cluster, idle, run_jobs
from e2e.bench.local.pods import PODS, pod
from e2e.harness.processes import Child
from e2e.harness.usage import cpu_seconds, memory_mb

from training_local.apiserver.crd import crd_types
from training_local.apiserver.server import ApiServer
from training_local.apiserver.transport import InMemoryTransport
from training_local.apiserver.types import BUILTIN
from training_operator.kube.transport import Request

Figures = dict[str, float]
CASES = ((1, 0, 0), (8, 0, 0), (32, 0, 0), (8, 1, 0), (8, 10, 0), (8, 1, 2000), (8, 10, 2000))
"""Connections, watchers, and creates per second; 0 means as many as the server takes."""
SERVER, FLOOR = "e2e.harness.local_server", "e2e.bench.local.floor"


def say(what: str, value: float, unit: str, more: str = "") -> None:
    """Print one figure."""
    print(f"{what:<58}{value:10.1f} {unit:<6}{more}", flush=True)


async def _in_memory(count: int) -> float:
    server = ApiServer(BUILTIN, crd_types)
    async with server.running():
        transport = InMemoryTransport(server)
        bodies = [pod(f"pod-{number}") for number in range(count)]
        begun = time.monotonic()
        for body in bodies:
            await transport.request(Request("POST", PODS, body=body))
        return count / (time.monotonic() - begun)


@contextmanager
def served(module: str, *, journal: bool = False) -> Iterator[tuple[Child, Path]]:
    """A server in a process of its own; the context gets it and its kubeconfig."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        kubeconfig = folder / "kubeconfig"
        kept = [folder / "data"] if journal else []
        child = Child([sys.executable, "-m", module, kubeconfig, *kept], folder / "log")
        try:
            while not kubeconfig.exists():
                child.check_alive()
                time.sleep(0.01)
            yield child, kubeconfig
        finally:
            child.kill()
            child.process.wait()


def load(
    kubeconfig: Path, connections: int, watchers: int, seconds: float, rate: float = 0
) -> tuple[Figures, Figures | None]:
    """Create over `connections`, `rate` per second if given, while `watchers` watch; the figures of both clients."""
    program = [sys.executable, "-m", "e2e.bench.local.load"]
    watching = None
    if watchers:
        command = [*program, "watch", str(kubeconfig), str(watchers), str(seconds + 1.5)]
        watching = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert watching.stdout
        watching.stdout.readline()
    made = subprocess.run(
        [*program, "create", str(kubeconfig), str(connections), str(seconds), str(rate)],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    seen = json.loads(watching.communicate()[0]) if watching else None
    return json.loads(made.stdout), seen


def bench_api(seconds: float) -> None:
    """Measure the API server alone."""
    say("in memory, creates", asyncio.run(_in_memory(4000)), "/s")
    floors: dict[int, float] = {}
    for connections in (1, 8, 32):
        with served(FLOOR) as (_, kubeconfig):
            floors[connections] = load(kubeconfig, connections, 0, seconds)[0]["per_second"]
        say(f"floor: same JSON for each request, {connections} connections", floors[connections], "/s")
    for journal in (False, True):
        for connections, watchers, rate in CASES:
            with served(SERVER, journal=journal) as (child, kubeconfig):
                before = cpu_seconds(child.pid)
                made, seen = load(kubeconfig, connections, watchers, seconds, rate)
                cpu = (cpu_seconds(child.pid) - before) / made["created"] * 1000
            paced = f", {rate} asked for" if rate else ""
            what = f"creates, {connections} connections, {watchers} watchers{paced}{', journal' if journal else ''}"
            ratio = f"{made['per_second'] / floors[connections]:.2f} x floor; "
            answers = f"answer {made['median_ms']:.2f} ms, p99 {made['p99_ms']:.2f}; CPU {cpu:.2f} ms each"
            say(what, made["per_second"], "/s", ("" if rate else ratio) + answers)
            if seen:
                more = f"p99 {seen['p99_ms']:.2f} ms, {seen['events']:.0f} events"
                say("    write begun -> event in the client, median", seen["median_ms"], "ms", more)
    with served(SERVER) as (child, kubeconfig):
        before = memory_mb(child.pid)
        made, _ = load(kubeconfig, 8, 0, seconds)
        grown = memory_mb(child.pid) - before
        say("memory per 1,000 pods, with their history", grown / made["created"] * 1000, "MB")


def bench_cluster(jobs: int, replicas: int, rest: float) -> None:
    """Measure a whole cluster."""
    with cluster() as running:
        time.sleep(2)
        figures = idle(running, rest)
        say(f"idle cluster over {rest:.0f} s, CPU", figures["cpu_percent"], "%")
        say("idle cluster, memory", figures["memory_mb"], "MB")
        figures = run_jobs(running, jobs, replicas)
    pods, ratio = jobs * replicas, figures["seconds"] / figures["floor_seconds"]
    say(
        f"{jobs} jobs of {replicas} pods that run `true`, to their end", figures["seconds"], "s", f"{ratio:.1f} x floor"
    )
    say(f"    floor: {pods} processes, two at a time", figures["floor_seconds"], "s")
    say("    CPU of the cluster's process per pod", figures["cpu_seconds"] / pods * 1000, "ms")
    say("    peak memory of the cluster's process", figures["peak_memory_mb"], "MB")
    say("    jobs succeeded", figures["jobs"], "", f"of {jobs}; pods {figures['pods']} of {pods}")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m e2e.bench.local", description=__doc__)
    parser.add_argument("--seconds", type=float, default=3, help="of each measurement (default: 3)")
    parser.add_argument("--jobs", type=int, default=100, help="PyTorchJobs to run to their end (default: 100)")
    parser.add_argument("--replicas", type=int, default=10, help="of each job (default: 10)")
    parser.add_argument("--rest", type=float, default=20, help="seconds to watch an idle cluster (default: 20)")
    parser.add_argument("--only", choices=["api", "cluster"], help="measure one half")
    given = parser.parse_args()
    print(f"load of the machine before: {os.getloadavg()[0]:.2f} on {os.cpu_count()} cores")
    if given.only != "cluster":
        bench_api(given.seconds)
    if given.only != "api":
        bench_cluster(given.jobs, given.replicas, given.rest)
    print(f"load of the machine after: {os.getloadavg()[0]:.2f}")


if __name__ == "__main__":
    main()
