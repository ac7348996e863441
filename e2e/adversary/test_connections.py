"""Connections that ask for nothing: the ports of the operator answer everybody else."""

from __future__ import annotations

import socket
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from e2e.harness.cluster import Cluster
from e2e.harness.jobs import Namespace, job
from e2e.harness.operator import PROGRAM, Operator
from e2e.support.profiles import often

IDLE = 1500
LIMITS = {"soft": "ulimit -Sn 1024", "soft and hard": "ulimit -n 1024"}


@contextmanager
def operator_under(limit: str, cluster: Cluster, log: Path, *, log_file: str = "") -> Iterator[Operator]:
    """A ready operator of a shell that has set `limit`; its output goes to `log_file` if that is given."""
    redirected = f' 2>"{log_file}"' if log_file else ""
    operator = Operator(
        cluster.kubeconfig, log, program=("bash", "-c", f'{limit}; exec "$@"{redirected}', "-", PROGRAM)
    )
    try:
        operator.wait_ready()
        yield operator
    finally:
        operator.child.kill()


@contextmanager
def idle_connections(url: str, count: int) -> Iterator[Sequence[socket.socket]]:
    """So many connections to the server at `url`, on which nothing is sent."""
    address = urlsplit(url)
    opened: list[socket.socket] = []
    try:
        for _ in range(count):
            with suppress(OSError):  # the server need not take them all
                opened.append(socket.create_connection((address.hostname or "", address.port or 0), timeout=1))
        yield opened
    finally:
        for each in opened:
            each.close()


def open_files(operator: Operator) -> int:
    return len([*Path(f"/proc/{operator.child.pid}/fd").iterdir()])


def get(url: str) -> tuple[int, str]:
    with urllib.request.urlopen(url, timeout=3) as answer:
        return answer.status, answer.read().decode()


@pytest.mark.parametrize("limit", often(LIMITS, "soft and hard"))
async def test_idle_connections_keep_nobody_from_probes_and_metrics(
    cluster: Cluster, jobs: Namespace, tmp_path: Path, limit: str
) -> None:
    with operator_under(LIMITS[limit], cluster, tmp_path / "log") as operator, ExitStack() as stack:
        for url in (operator.metrics, operator.probes):
            stack.enter_context(idle_connections(url, IDLE))
        assert get(f"{operator.probes}/healthz") == (200, "ok")
        assert "process_open_fds" in get(operator.metrics)[1]
        await jobs.run_to_success(job("alongside", Master=1))
        assert open_files(operator) < 700
        assert "too many are idle" in operator.child.output()


async def test_a_log_on_a_full_disk_stops_nobody(cluster: Cluster, jobs: Namespace, tmp_path: Path) -> None:
    with operator_under("true", cluster, tmp_path / "log", log_file="/dev/full") as operator:
        await jobs.run_to_success(job("unheard", Master=1))
        assert get(f"{operator.probes}/healthz") == (200, "ok")


async def test_a_closed_standard_error_stops_nobody(cluster: Cluster, jobs: Namespace, tmp_path: Path) -> None:
    with operator_under("exec 2>&-", cluster, tmp_path / "log") as operator:
        await jobs.run_to_success(job("mute", Master=1))
        assert get(f"{operator.probes}/healthz") == (200, "ok")
