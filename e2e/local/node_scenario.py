"""A node of its own process, to be killed or to be run with less power: `scenario.py exchange|linger MODE STATE`."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

from e2e.support.local_node import CLIENT, SERVER, answer, cluster_in, service

from training_local.node.sandbox.doctor import examine


async def exchange(mode: str, state: Path) -> None:
    """Two pods of one job talk over a service name; print what happened."""
    diagnosis = await examine()
    async with cluster_in(state, diagnosis.mode if mode == "auto" else mode) as cluster:
        await cluster.api.create("services", service("a"))
        await cluster.start("a", "python3", "-c", SERVER, job="j", container=answer("hi"))
        script = "import socket; print(socket.gethostbyname(socket.gethostname()));" + CLIENT
        status = await cluster.run("b", "python3", "-c", script, "a", "23456", job="j")
        log = (await cluster.log("b")).split()
        own = log[0] == status["podIP"]
        report = {"mode": diagnosis.mode, "missing": sorted(diagnosis.missing), "said": log[1:], "own": own}
        print(json.dumps({**report, "denied": diagnosis.denied}))


async def linger(mode: str, state: Path) -> None:
    """Run pods with stubborn descendants until killed."""
    script = "trap '' TERM; setsid sh -c 'while true; do sleep 5; done' & echo up; while true; do sleep 5; done"
    async with cluster_in(state, mode) as cluster:
        for name, job in (("a", "one"), ("b", "one"), ("c", "two")):
            await cluster.start(name, "sh", "-c", script, job=job, says="up")
        print("up", flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run({"exchange": exchange, "linger": linger}[sys.argv[1]](sys.argv[2], Path(sys.argv[3])))
