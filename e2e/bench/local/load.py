"""`python -m e2e.bench.local.load create|watch KUBECONFIG CONNECTIONS SECONDS [RATE]`: a client, in its own process.

Prints one JSON object: how many objects were created per second, or how late events came, in milliseconds.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import uvloop
from e2e.bench.local.pods import PODS, SENT, pod
from e2e.bench.local.wire import Connection, Place

_SENT = re.compile(rf'"{SENT}":"(\d+)"'.encode())


def quantile(values: Sequence[float], share: float) -> float:
    """The value below which `share` of all are; NaN of nothing."""
    return sorted(values)[min(int(len(values) * share), len(values) - 1)] if values else float("nan")


async def create(place: Place, connections: int, seconds: float, rate: float = 0) -> dict[str, float]:
    """Create pods over `connections` at once, as fast as the server goes or `rate` per second in all."""
    took: list[float] = []
    begun = time.monotonic()

    async def writer(number: int) -> None:
        connection = await Connection.open(place)
        count = 0
        while (now := time.monotonic()) < begun + seconds:
            due = begun + (count * connections + number) / rate if rate else now
            if due > now:
                await asyncio.sleep(due - now)
                now = time.monotonic()
            await connection.post(PODS, pod(f"pod-{os.getpid()}-{number}-{count}"))
            took.append((time.monotonic() - now) * 1000)
            count += 1
        connection.close()

    await asyncio.gather(*(writer(number) for number in range(connections)))
    reached = len(took) / (time.monotonic() - begun)
    return {
        "created": len(took),
        "per_second": reached,
        "median_ms": quantile(took, 0.5),
        "p99_ms": quantile(took, 0.99),
    }


async def watch(place: Place, connections: int, seconds: float) -> dict[str, float]:
    """Watch pods over `connections` at once; the first one notes how long events took since their write began."""
    late: list[float] = []
    counts = [0] * connections

    async def watcher(number: int) -> None:
        connection = await Connection.open(place)
        async for line in connection.watch(PODS):
            counts[number] += 1
            if number == 0 and (sent := _SENT.search(line)):
                late.append((time.monotonic_ns() - int(sent[1])) / 1e6)

    tasks = [asyncio.create_task(watcher(number)) for number in range(connections)]
    print("watching", flush=True)
    await asyncio.wait(tasks, timeout=seconds)
    for task in tasks:
        task.cancel()
    failures = await asyncio.gather(*tasks, return_exceptions=True)
    if broken := [each for each in failures if isinstance(each, Exception)]:
        raise broken[0]
    return {"events": min(counts), "median_ms": quantile(late, 0.5), "p99_ms": quantile(late, 0.99)}


def main() -> None:
    """Run one client."""
    verb, kubeconfig, connections, *numbers = sys.argv[1:]
    work = {"create": create, "watch": watch}[verb]
    place = Place.of(Path(kubeconfig))
    print(json.dumps(uvloop.run(work(place, int(connections), *map(float, numbers)))), flush=True)


if __name__ == "__main__":
    main()
