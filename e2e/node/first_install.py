"""`python -m e2e.node.first_install`: how long it takes until the operator is Available, step by step.

As root; each round applies the standalone overlay on a node that has its image and nothing else of it. CPU seconds are
those of each pod at that moment: other work on the machine changes them less than the time on the clock.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

from e2e.deployment.installation import ACCOUNT, LEASE
from e2e.harness.client import Api, Object, connect, eventually
from e2e.harness.cluster import Cluster
from e2e.node.cluster import node
from e2e.node.installed import NAMESPACE, SELECTOR, write_overlay
from e2e.node.operator_image import operator_image
from e2e.node.worker import load
from rich.console import Console
from rich.table import Table

SETTLED_S: Final = 20.0
"""A kubelet that has just started holds each probe back for a random part of its period."""
POLL_S: Final = 0.05
LIMIT_S: Final = 120.0
PODS: Final = f"/api/v1/namespaces/{NAMESPACE}/pods"
DEPLOYMENT: Final = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/{ACCOUNT}"
HOLDER: Final = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases/{LEASE}"
STEPS: Final = ("applied", "both scheduled", "both started", "one leads", "one ready", "both ready", "Available")


async def install(cluster: Cluster, overlay: Path) -> tuple[dict[str, float], list[float]]:
    """Install the operator; the seconds of each step since the beginning, and the CPU seconds of each pod."""
    found: dict[str, float] = {}
    begun, clock = time.monotonic(), time.time()

    def note(step: str, reached: bool) -> None:
        if reached:
            found.setdefault(step, time.monotonic() - begun)

    async def apply() -> None:
        await asyncio.to_thread(cluster.run_kubectl, "apply", "-k", str(overlay))
        note("applied", True)

    async with connect(cluster.kubeconfig) as api:
        applying = asyncio.create_task(apply())

        async def available() -> bool:
            pods = list((await api.call("GET", f"{PODS}?labelSelector={SELECTOR.replace('=', '%3D')}"))["items"])
            note("both scheduled", [is_true(pod, "PodScheduled") for pod in pods] == [True, True])
            lease = await api.get(HOLDER)
            note("one leads", bool(lease and lease["spec"].get("holderIdentity")))
            ready = [is_true(pod, "Ready") for pod in pods].count(True)
            note("one ready", ready > 0)
            note("both ready", ready > 1)
            note("Available", is_true(await api.get(DEPLOYMENT), "Available"))
            return {"Available", "both ready"} <= found.keys()

        await eventually(available, "the Deployment is Available", LIMIT_S, poll=POLL_S)
        await applying
        found["both started"] = max(await figures(api, "process_start_time_seconds")) - clock
        return found, await figures(api, "process_cpu_seconds_total")


def is_true(found: Object | None, condition: str) -> bool:
    """Whether an object has a condition with the status True."""
    conditions = (found or {}).get("status", {}).get("conditions", ())
    return any((each["type"], each["status"]) == (condition, "True") for each in conditions)


async def figures(api: Api, metric: str) -> list[float]:
    """What the process of each pod tells of itself."""
    pods = (await api.call("GET", f"{PODS}?labelSelector={SELECTOR.replace('=', '%3D')}"))["items"]
    names = [pod["metadata"]["name"] for pod in pods]
    told = [await api.text(f"{PODS}/{name}:8080/proxy/metrics") for name in names]
    return [float(re.findall(rf"^{metric} (\S+)", text, re.MULTILINE)[0]) for text in told]


def main() -> int:
    """Measure some rounds, and print them."""
    parser = argparse.ArgumentParser(prog="python -m e2e.node.first_install", description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    rounds = parser.parse_args().rounds
    table = Table("ROUND", *(f"{step}, s" for step in STEPS), "CPU of each pod, s")
    with node() as cluster, tempfile.TemporaryDirectory() as folder:
        load(operator_image(), cluster.kubeconfig.parent)
        overlay = write_overlay(Path(folder))
        time.sleep(SETTLED_S)
        for number in range(1, rounds + 1):
            found, cpu = asyncio.run(install(cluster, overlay))
            cells = (f"{found[step]:.1f}" for step in STEPS)
            table.add_row(str(number), *cells, " ".join(f"{each:.2f}" for each in cpu))
            cluster.run_kubectl("delete", "-k", str(overlay), "--timeout=90s")
    Console(width=150).print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
