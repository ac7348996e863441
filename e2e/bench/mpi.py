"""`python -m e2e.bench.mpi`: how long an MPIJob takes to start its ranks, through `kubectl exec` and over SSH.

Every job runs `hostname` once in each worker, on the local cluster. Measured are the time from the creation of the job
until all its pods run, and then that of `mpirun`. One round per way is not counted.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from e2e.harness.binaries import programs
from e2e.harness.client import Api, connect, eventually
from e2e.harness.local_up import LocalUp, local_up
from e2e.jobs.mpi_launch import OVER_SSH, PODS, mpi_job, play
from rich.console import Console
from rich.table import Table

LIMIT = 600.0


@dataclass(frozen=True, slots=True)
class Way:
    """One way to start ranks."""

    title: str
    annotations: dict[str, str]
    folder: str
    """A folder that the launcher's pod has to itself."""
    before: str = ":"
    """What the launcher runs first."""


@dataclass(frozen=True, slots=True)
class Measured:
    """The seconds of one job."""

    pods: float
    """Until all pods run."""
    mpirun: float


def ways() -> Sequence[Way]:
    """Those to be compared; the first one is what the others are measured by."""
    kubectl = programs()["kubectl"]
    return (
        Way("exec, stand-in for kubectl", {}, "/opt/kube"),
        Way("exec, kubectl", {}, "/opt/kube", f"ln -sf {kubectl} /opt/kube/kubectl"),
        Way("ssh", OVER_SSH, "/run/mpi"),
    )


def script(way: Way, workers: int) -> str:
    """The launcher: mpirun, once all workers run, with the moments before and after it."""
    return f"""{way.before} || exit
until [ -e {way.folder}/go ]; do sleep 0.1; done
begun=$(date +%s.%N)
mpirun --allow-run-as-root -np {workers} --map-by node hostname || exit
echo took $begun $(date +%s.%N)"""


async def measure(cluster: LocalUp, way: Way, workers: int, python: Path) -> Measured:
    """Run one job; each worker must have printed its name."""
    command = ["sh", "-c", script(way, workers)]
    job = mpi_job("bench", command, workers=workers, python=python, annotations=way.annotations)
    async with connect(cluster.kubeconfig) as api, asyncio.TaskGroup() as tasks:
        playing = tasks.create_task(play(cluster, api, job, LIMIT))
        started = tasks.create_task(let_go(cluster, api, way, workers))
    ended = playing.result()
    lines = ended.log.splitlines()
    hosts = {line for line in lines if line.startswith("bench-worker-")}
    if ended.conditions[-1] != "Succeeded" or len(hosts) != workers:
        raise SystemExit(f"{way.title}: {len(hosts)} of {workers} workers, {ended.conditions}:\n{ended.log[-4000:]}")
    _, begun, over = next(line for line in lines if line.startswith("took ")).split()
    return Measured(started.result(), float(over) - float(begun))


async def let_go(cluster: LocalUp, api: Api, way: Way, workers: int) -> float:
    """Tell the launcher to begin once all pods run; returns the seconds until then."""
    begun = time.monotonic()

    async def all_run() -> bool:
        pods = (await api.call("GET", PODS))["items"]
        return [pod["status"].get("phase") for pod in pods] == ["Running"] * (workers + 1)

    await eventually(all_run, "all pods run", LIMIT, poll=0.05)
    seconds = time.monotonic() - begun
    kubectl = cluster.cluster
    await asyncio.to_thread(kubectl.run_kubectl, "exec", "bench-launcher", "--", "touch", f"{way.folder}/go")
    return seconds


def table(measured: dict[str, list[Measured]], workers: int) -> Table:
    """Medians, with the fastest and the slowest run."""
    shown = Table("WAY", "PODS s", "RATIO", "MPIRUN s", "RATIO", title=f"{workers} workers, hostname in each")
    first = next(iter(measured.values()))
    for title, runs in measured.items():
        cells = []
        for name in ("pods", "mpirun"):
            values = [getattr(each, name) for each in runs]
            middle = statistics.median(values)
            ratio = middle / statistics.median(getattr(each, name) for each in first)
            cells += [f"{middle:.2f} ({min(values):.2f} - {max(values):.2f})", f"{ratio:.2f}"]
        shown.add_row(title, *cells)
    return shown


async def run(workers: int, runs: int, python: Path) -> Table:
    """Measure all ways in turn, so that a busy moment of the machine meets each of them."""
    measured: dict[str, list[Measured]] = {way.title: [] for way in ways()}
    with tempfile.TemporaryDirectory(prefix="training-e2e-") as folder, local_up(Path(folder)) as cluster:
        for number in range(runs + 1):
            for way in ways():
                result = await measure(cluster, way, workers, python)
                if number:
                    measured[way.title].append(result)
    return table(measured, workers)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--python", type=Path, required=True, help="virtual environment with examples/mpi/requirements.txt"
    )
    parser.add_argument("--workers", type=int, default=64)
    parser.add_argument("--runs", type=int, default=5)
    chosen = parser.parse_args()
    Console(width=110).print(asyncio.run(run(chosen.workers, chosen.runs, chosen.python.absolute())))


if __name__ == "__main__":
    main()
