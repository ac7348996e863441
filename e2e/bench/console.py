"""`python -m e2e.bench.console`: the console with 5,000 jobs of 2 on a bare control plane.

Of each page: how long its server took when nothing was known, when it was, and until the page could be used in
Chromium; beside the seconds of the console's processor, which other work on the machine changes less. Then its memory,
and what it asks the API server while no page is open. One job is run by the operator and copied inside etcd. Ends with
status 1 if a limit is missed.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from e2e.bench.many.clean import new_namespace
from e2e.bench.many.etcd import Etcd, copy
from e2e.bench.many.finished import count
from e2e.bench.many.stage import Stage
from e2e.console.pictures import look
from e2e.harness.bare import ControlPlane, control_plane
from e2e.harness.client import Api, connect, eventually
from e2e.harness.floor import fast_client
from e2e.harness.jobs import job
from e2e.harness.operator import PROGRAM, running_operator
from e2e.harness.processes import Child
from e2e.harness.startup import wait_until
from e2e.harness.usage import cpu_at_rest, cpu_seconds, memory_mb

SERVER_S: Final = 1.0
USABLE_S: Final = 2.0
MEMORY_MB: Final = 150.0
LOADING_S: Final = 300.0
"""That the API server may take to notice what is in etcd."""
LINGER_S: Final = 20.0
"""After which nothing is watched any more that no page shows."""
POLL_S: Final = 0.1
FIRST: Final = "job-0000"


@dataclass(frozen=True, slots=True)
class Answer:
    """What one page took."""

    wall_s: float
    cpu_s: float
    """Of the console's processor."""
    text: str
    whole: bool
    """Whether the browser is not told to ask again."""


class Console:
    """A console that runs."""

    def __init__(self, kubeconfig: Path, folder: Path) -> None:
        self.child = Child([PROGRAM, "console", f"--kubeconfig={kubeconfig}"], folder / "console.log")
        wait_until(lambda: "http://" in self.child.output(), "the console", [self.child])
        self.address = self.child.output().split()[0].rstrip("/")

    def get(self, path: str) -> Answer:
        """Open a page as a browser without scripts does."""
        begun, used = time.perf_counter(), cpu_seconds(self.child.pid)
        while True:
            try:
                with urllib.request.urlopen(self.address + path, timeout=120) as answer:
                    text = answer.read().decode()
                break
            except urllib.error.HTTPError as error:
                if error.code != 503:  # the API server's list takes longer than a page waits
                    raise
        used = cpu_seconds(self.child.pid) - used
        return Answer(time.perf_counter() - begun, used, text, "Refresh" not in answer.headers)


async def fill(plane: ControlPlane, api: Api, folder: Path, jobs: int) -> str:
    """Let the operator run one job of 2, and copy it until there are so many; returns their namespace."""
    namespace = await new_namespace(api, "console")
    with running_operator(plane.cluster.kubeconfig, folder / "operator.log") as operator:
        async with fast_client(plane.cluster) as client:
            stage = Stage(client, namespace)
            async with stage.watched():
                await stage.create_jobs([job(FIRST, Master=1, Worker=1)])
                await stage.until(lambda: len(stage.pods) == 2, "both pods")
                await stage.run("Running")
        await cpu_at_rest(operator.child.pid)
    prefixes = [f"/registry/{place}/{namespace}/" for place in ("kubeflow.org/pytorchjobs", "pods", "events")]
    await copy(Etcd(plane.etcd), prefixes, FIRST, [f"job-{number:04}" for number in range(1, jobs)])

    async def noticed() -> bool:
        return await count(api, f"/apis/kubeflow.org/v1/namespaces/{namespace}/pytorchjobs") >= jobs

    await eventually(noticed, f"{jobs} jobs", LOADING_S, 1.0)
    return namespace


def served(plane: ControlPlane) -> Counter[str]:
    """How many requests about jobs, pods and events the API server has answered or answers still."""
    metrics = plane.cluster.run_kubectl("get", "--raw", "/metrics")
    found: Counter[str] = Counter()
    for labels, number in re.findall(
        r"^apiserver_(?:request_total|longrunning_requests)\{(.*)\} (\d+)$", metrics, re.M
    ):
        label = dict(re.findall(r'(\w+)="(.*?)"', labels))
        if re.fullmatch(r"\w+jobs|pods|events", label["resource"]):
            found[f"{label['verb']} {label['resource']}"] += int(number)
    return found


def measure(plane: ControlPlane, folder: Path, namespace: str, jobs: int) -> list[str]:
    """Print all figures; returns the limits that were missed."""
    missed: list[str] = []

    def say(what: str, value: float, unit: str, most: float | None = None) -> None:
        late = most is not None and value > most
        print(f"{what:<70}{value:9.2f} {unit}{'' if most is None else f'   <= {most:g}'}{' MISSED' if late else ''}")
        if late:
            missed.append(what)

    console = Console(plane.cluster.kubeconfig, folder)
    say("memory before anybody looks", memory_mb(console.child.pid), "MB", MEMORY_MB)
    one = f"/jobs/{namespace}/pytorchjobs/{FIRST}"
    paths = ("/", "/?sort=newest&text=job-", "/fleet", one, f"{one}/ranks", f"{one}/yaml", "/?migration=on")
    for path in paths:
        for when in ("first", "again"):
            answer = console.get(path)
            say(f"{path.replace(namespace, 'NS')}, {when}: server", answer.wall_s, "s", SERVER_S)
            say(f"{path.replace(namespace, 'NS')}, {when}: processor of the console", answer.cpu_s, "s")
            begun = time.perf_counter()
            if not answer.whole:
                while not (answer := console.get(path)).whole:
                    time.sleep(POLL_S)
                say("    and until all jobs are there", time.perf_counter() - begun, "s")
            assert path != "/" or f"{jobs} jobs" in answer.text, answer.text[:2000]
    begun, used, text = time.perf_counter(), cpu_seconds(console.child.pid), "judged so far"
    while "judged so far" in text:
        text = console.get("/fleet/migration").text
    say("verdicts of all jobs: until all are there", time.perf_counter() - begun, "s")
    say("verdicts of all jobs: processor of the console", cpu_seconds(console.child.pid) - used, "s")
    shown = (*paths, "/fleet/migration")
    for path, rounds in look(console.address, folder, shown, "times").items():
        say(
            f"{path.replace(namespace, 'NS')}: usable in Chromium",
            min(e["usable"] for e in rounds) / 1e3,
            "s",
            USABLE_S,
        )
        say(
            f"{path.replace(namespace, 'NS')}: server, for Chromium",
            min(e["server"] for e in rounds) / 1e3,
            "s",
            SERVER_S,
        )
    say("memory, most so far", memory_mb(console.child.pid, "VmHWM"), "MB", MEMORY_MB)
    time.sleep(LINGER_S)
    before, used = served(plane), cpu_seconds(console.child.pid)
    time.sleep(LINGER_S)
    asked = served(plane)
    asked.subtract(before)
    for what, number in (+asked).items():
        print(f"    {what:<66}{number:9}")
    say("requests to the API server while no page is open, in 20 s", asked.total(), "", 0)
    say("processor of the console meanwhile", cpu_seconds(console.child.pid) - used, "s")
    console.child.stop()
    return missed


async def main() -> int:
    """Measure; 1 if a limit is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=5_000, help="at most 10,000")
    jobs = parser.parse_args().jobs
    with tempfile.TemporaryDirectory(prefix="training-console-") as name, control_plane() as plane:
        async with connect(plane.cluster.kubeconfig) as api:
            namespace = await fill(plane, api, Path(name), jobs)
        missed = await asyncio.to_thread(measure, plane, Path(name), namespace, jobs)
    print(f"missed: {', '.join(missed)}" if missed else "all limits are met")
    return bool(missed)


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
