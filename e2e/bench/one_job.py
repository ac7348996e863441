"""`python -m e2e.bench.one_job`: how fast one large job gets its pods and services, and what that costs the operator.

The floor is what the API server can do: the same objects, created directly by the same client on the same event loop,
32 at a time, in the same run. One round is not counted: it warms the server and shows which objects the operator makes.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import uvloop
from e2e.harness.client import Api, connect, eventually
from e2e.harness.cluster import Cluster
from e2e.harness.errors import told
from e2e.harness.floor import AT_ONCE, Objects, create_all, fast_client, made_in
from e2e.harness.jobs import Namespace, job
from e2e.harness.operator import running_operator
from e2e.harness.providers import provide
from e2e.harness.usage import cpu_at_rest, memory_mb

from training_operator.kube.resources import PODS, SERVICES

ENDPOINT_SLICES = "/apis/discovery.k8s.io/v1/namespaces/{}/endpointslices"
"""What the controller manager makes for services; it is busy until they are gone."""
POLL = 0.02
"""Seconds between two looks at how many objects there are."""
LIMIT = 300.0
"""Seconds after which a measurement is given up."""

MAX_RATIO = 1.6
MAX_CPU_MS = 1.0
MAX_MEMORY_MB = 120


@dataclass(frozen=True, slots=True)
class Round:
    """The figures of one floor and one job."""

    floor_s: float
    floor_cpu_ms_per_replica: float
    """What the client takes that only creates a replica's service and pod."""
    job_s: float
    cpu_ms_per_replica: float
    peak_memory_mb: float

    @property
    def ratio(self) -> float:
        """How much longer the job takes than the floor."""
        return self.job_s / self.floor_s


class Bench:
    """Measures jobs of one size on one cluster."""

    def __init__(self, cluster: Cluster, api: Api, folder: Path, replicas: int) -> None:
        self._cluster, self._api, self._folder, self._replicas = cluster, api, folder, replicas
        self._serial = 0

    async def warm_up(self) -> Objects:
        """Run the job once; return the objects that the operator made for it."""
        namespace = await self._namespace()
        await self._job(namespace)
        made = await made_in(self._api, namespace)
        await self._empty(namespace)
        return made

    async def round(self, objects: Objects) -> Round:
        """Measure the floor, then the job."""
        namespace = await self._namespace()
        floor, floor_cpu = await self._floor(namespace, objects)
        await self._empty(namespace)
        namespace = await self._namespace()
        seconds, cpu, memory = await self._job(namespace)
        await self._empty(namespace)
        return Round(floor, floor_cpu * 1000 / self._replicas, seconds, cpu * 1000 / self._replicas, memory)

    async def _floor(self, namespace: str, objects: Objects) -> tuple[float, float]:
        """Seconds, and those of CPU, to create the objects directly, owned by a job that no operator takes care of."""
        owner = await self._api.create(Namespace(self._api, namespace).jobs("PyTorchJob"), job("bench", Master=1))
        for _, body in objects:
            body["metadata"]["ownerReferences"][0]["uid"] = owner["metadata"]["uid"]
        async with fast_client(self._cluster) as client:
            start, cpu = time.perf_counter(), time.process_time()
            await create_all(client, namespace, objects)
            return time.perf_counter() - start, time.process_time() - cpu

    async def _job(self, namespace: str) -> tuple[float, float, float]:
        """Seconds until all objects exist, CPU seconds of the operator until it rests, its peak memory in MB."""
        jobs = Namespace(self._api, namespace)
        with running_operator(self._cluster.kubeconfig, self._folder / f"operator-{namespace}.log") as operator:
            pid = operator.child.pid
            before = await cpu_at_rest(pid)
            start = time.perf_counter()
            await jobs.create(job("bench", Master=1, Worker=self._replicas - 1))
            for resource in (SERVICES, PODS):
                await self._counted(resource.path(namespace), lambda count: count >= self._replicas)
            seconds = time.perf_counter() - start
            return seconds, await cpu_at_rest(pid) - before, memory_mb(pid, "VmHWM")

    async def _counted(self, path: str, enough: Callable[[int], bool]) -> None:
        """Wait until a collection has as many objects as are asked for."""

        async def reached() -> bool:
            return enough(await _count(self._api, path))

        await eventually(reached, f"the wanted number of objects at {path}", LIMIT, POLL)

    async def _namespace(self) -> str:
        self._serial += 1
        name = f"bench-{self._serial}"
        await self._api.create("/api/v1/namespaces", {"metadata": {"name": name}})
        return name

    async def _empty(self, namespace: str) -> None:
        """Delete everything and wait, so that nothing of it disturbs the next measurement."""
        await self._api.delete(f"{Namespace(self._api, namespace).jobs('PyTorchJob')}/bench", "Orphan")
        paths = [resource.path(namespace) for resource in (PODS, SERVICES)]
        for path in paths:
            await self._api.call("DELETE", path)
        for path in [*paths, ENDPOINT_SLICES.format(namespace)]:
            await self._counted(path, lambda count: count == 0)


async def _count(api: Api, path: str) -> int:
    """How many objects a collection has, without fetching them."""
    page = await api.call("GET", f"{path}?limit=1")
    return len(page["items"]) + int(page["metadata"].get("remainingItemCount", 0))


def _table(replicas: int, rounds: list[Round]) -> str:
    def row(what: str, value: Callable[[Round], float], unit: str, target: float | None = None) -> str:
        values = [value(each) for each in rounds]
        middle = statistics.median(values)
        goal = "" if target is None else f"<= {target:g}{unit}  {'met' if middle <= target else 'MISSED'}"
        return f"{what:<42}{middle:9.2f}{unit:<4}{min(values):9.2f}{max(values):9.2f}   {goal}".rstrip()

    return "\n".join(
        [
            f"{f'{replicas:,} replicas, {len(rounds)} rounds':<42}{'median':>9}    {'least':>9}{'most':>9}   target",
            row(f"floor: {2 * replicas:,} objects, {AT_ONCE} at a time", lambda r: r.floor_s, " s"),
            row("job: until all pods and services exist", lambda r: r.job_s, " s"),
            row("job / floor", lambda r: r.ratio, "", MAX_RATIO),
            row("CPU of the floor per replica", lambda r: r.floor_cpu_ms_per_replica, " ms"),
            row("CPU of the operator per replica", lambda r: r.cpu_ms_per_replica, " ms", MAX_CPU_MS),
            row("peak memory of the operator", lambda r: r.peak_memory_mb, " MB", MAX_MEMORY_MB),
        ]
    )


async def _measure(cluster: Cluster, replicas: int, count: int) -> list[Round]:
    with tempfile.TemporaryDirectory(prefix="training-bench-") as folder:
        async with connect(cluster.kubeconfig) as api:
            bench = Bench(cluster, api, Path(folder), replicas)
            objects = await bench.warm_up()
            return [await bench.round(objects) for _ in range(count)]


def main() -> None:
    """Measure and print; the exit status tells only whether the measurement could be made."""
    parser = argparse.ArgumentParser(prog="python -m e2e.bench.one_job", description=__doc__)
    parser.add_argument("--replicas", type=int, default=1000, help="one master, the rest workers (default: 1000)")
    parser.add_argument("--rounds", type=int, default=3, help="of which the median is shown (default: 3)")
    parser.add_argument("--json", action="store_true", help="print the figures of every round as JSON")
    arguments = parser.parse_args()
    with told("bench"), provide("bare") as cluster:
        rounds = uvloop.run(_measure(cluster, arguments.replicas, arguments.rounds))
    if arguments.json:
        print(json.dumps({"replicas": arguments.replicas, "rounds": [asdict(each) for each in rounds]}, indent=1))
    else:
        print(_table(arguments.replicas, rounds))


if __name__ == "__main__":
    main()
