"""Many pods in a local cluster that may open few files: `python -m e2e.local.many_pods [--pods 1000] [--files 1024]`.

Fails if they do not all run at once within the time. A pod costs some 50 ms of processor time.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from e2e.harness.client import Api, connect, eventually
from e2e.harness.local_up import LocalUp, local_up
from e2e.harness.operator import PROGRAM
from e2e.harness.usage import cpu_seconds
from e2e.support.little_job import little_job

NAMESPACE = "/api/v1/namespaces/default"
JOBS = "/apis/kubeflow.org/v1/namespaces/default/jaxjobs"
SECONDS = 900.0


@contextmanager
def cluster_under(limit: str, folder: Path, *flags: str) -> Iterator[LocalUp]:
    """A cluster in host mode, after a command of the shell that sets a limit."""
    program = ("bash", "-c", f'{limit}; exec "$@"', "-", PROGRAM)
    with local_up(folder, "--sandbox=host", *flags, program=program, grace=60) as cluster:
        yield cluster


def sleepers(workers: int) -> dict[str, object]:
    """A job whose pods say how many files they may open, and sleep."""
    return little_job("sh", "-c", "ulimit -Sn; sleep 600", workers=workers)


async def until_all_run(api: Api, pods: int, seconds: float = 60) -> None:
    """Wait until so many pods run."""

    async def all_run() -> bool:
        found = await api.get(f"{NAMESPACE}/pods") or {"items": []}
        running: int = sum(each["status"].get("phase") == "Running" for each in found["items"])
        return running == pods

    await eventually(all_run, f"{pods} pods run", seconds, poll=0.5)


async def delete(api: Api) -> None:
    """Remove the job, and wait until its pods have gone."""
    await api.delete(f"{JOBS}/little")

    async def none_left() -> bool:
        return not (await api.get(f"{NAMESPACE}/pods") or {"items": []})["items"]

    await eventually(none_left, "the end of all pods", SECONDS)


async def main(pods: int, files: int) -> None:
    """Let them run, and say what that took."""
    with tempfile.TemporaryDirectory() as folder, cluster_under(f"ulimit -Sn {files}", Path(folder)) as cluster:
        async with connect(cluster.kubeconfig) as api:
            begun, used = time.monotonic(), cpu_seconds(cluster.child.pid)
            await api.create(JOBS, sleepers(pods))
            await until_all_run(api, pods, SECONDS)
            took, cpu = time.monotonic() - begun, cpu_seconds(cluster.child.pid) - used
            print(
                f"{pods} pods run at `ulimit -Sn {files}`: after {took:.0f} s, {cpu / pods * 1000:.0f} ms of CPU each"
            )
            await delete(api)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pods", type=int, default=1000)
    parser.add_argument("--files", type=int, default=1024)
    sys.exit(asyncio.run(main(**vars(parser.parse_args()))))
