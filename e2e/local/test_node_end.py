"""However the node ends, nothing of its pods is left; and it makes do with what a machine allows."""

from __future__ import annotations

import json
import os
import select
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from e2e.support import marks
from e2e.support.local_node import (
    NO_NAMESPACES,
    cluster_in,
    entries,
    needs_namespaces,
    open_descriptors,
    parent,
    processes,
    processes_with,
    seconds,
)
from e2e.support.paths import ROOT

pytestmark = marks.local

MODES = [pytest.param("netns", marks=needs_namespaces), "host"]


def trace() -> tuple[str, int]:
    """Mounts and network cards of this machine, as far as this process can see."""
    return Path("/proc/mounts").read_text(), Path("/proc/net/dev").read_text().count("\n")


@pytest.mark.parametrize("mode", MODES)
async def test_stopping_the_node_leaves_nothing(tmp_path: Path, mode: str) -> None:
    before, descriptors = trace(), open_descriptors()
    async with cluster_in(tmp_path / "state", mode) as cluster:
        script = f"setsid sleep {seconds(4711)} & setsid sleep {seconds(4712)} & echo up; wait"
        await cluster.start("busy", "sh", "-c", script, says="up")
        assert processes_with(f"sleep {seconds(4711)}")
    assert not processes_with(f"sleep {seconds(4711)}")
    assert not processes_with(f"sleep {seconds(4712)}")
    assert trace() == before
    assert open_descriptors() == descriptors
    assert entries(cluster.state) == ["bin", "etc", "pods", "root"]


@pytest.mark.parametrize("mode", MODES)
def test_killing_the_node_leaves_nothing(tmp_path: Path, mode: str) -> None:
    before = trace()
    arguments = [sys.executable, "-m", "e2e.local.node_scenario", "linger", mode, str(tmp_path / "state")]
    with subprocess.Popen(arguments, cwd=ROOT, env=environment(), stdout=subprocess.PIPE, text=True) as node:
        assert node.stdout and node.stdout.readline() == "up\n"
        family = descendants(node.pid)
        assert len(family) >= 2 + 3 * 2  # supervisors; per pod a shell and its daemon, perhaps already their sleeps
        watches = [os.pidfd_open(pid) for pid in family]
        node.kill()
    for watch in watches:
        ready, _, _ = select.select([watch], [], [], 10)
        assert ready, "a process has survived the node"
        os.close(watch)
    assert trace() == before


def descendants(root: int) -> list[int]:
    children: dict[int, list[int]] = {}
    for pid in processes():
        if Path("/proc", pid).exists():
            children.setdefault(parent(pid), []).append(int(pid))
    found, waiting = [], [root]
    while waiting:
        mine = children.get(waiting.pop(), [])
        found += mine
        waiting += mine
    return found


def environment() -> dict[str, str]:
    sources = [str(ROOT / name) for name in ("api", "controllers", "operator", "local")]
    packages = [path for path in sys.path if path.endswith("site-packages")]
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    return {"PATH": path, "PYTHONPATH": os.pathsep.join([*sources, *packages])}


def exchange(state: Path, *prefix: str, python: str = sys.executable, mode: str = "auto") -> dict[str, Any]:
    command = [*prefix, python, "-m", "e2e.local.node_scenario", "exchange", mode, str(state)]
    done = subprocess.run(command, cwd=ROOT, env=environment(), capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    report: dict[str, Any] = json.loads(done.stdout)
    assert report["said"] == ["hi"]
    return report


def python_for_others() -> str:
    """An interpreter that another user may execute and that has the packages we need."""
    again = "import msgspec, structlog, subprocess, sys; subprocess.run([sys.executable, '-c', ''], check=True)"
    for candidate in (sys.executable, "/usr/bin/python3"):
        command = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", candidate, "-c", again]
        if subprocess.run(command, env=environment(), capture_output=True, check=False).returncode == 0:
            return candidate
    pytest.skip("no interpreter that user 65534 may execute")


needs_root = pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("setpriv"), reason="needs root and setpriv")
in_namespaces = pytest.mark.skipif(bool(NO_NAMESPACES) or not shutil.which("unshare"), reason="needs unshare")


@needs_root
@needs_namespaces
def test_an_ordinary_user_gets_the_full_sandbox() -> None:
    state = Path(f"/tmp/training-node-{os.getpid()}")  # below tmp_path the other user could not write
    state.mkdir(mode=0o777)
    state.chmod(0o777)
    try:
        prefix = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
        report = exchange(state / "state", *prefix, python=python_for_others())
    finally:
        shutil.rmtree(state)
    assert (report["mode"], report["missing"], report["own"]) == ("netns", [], True)


@needs_root
@needs_namespaces
def test_root_with_hardly_a_capability_gets_the_full_sandbox(tmp_path: Path) -> None:
    # The kernel lets only those with this one capability map user 0.
    report = exchange(tmp_path / "state", "setpriv", "--bounding-set=-all,+setfcap", "--inh-caps=-all")
    assert (report["mode"], report["missing"], report["own"]) == ("netns", [], True)


@needs_root
def test_root_without_any_capability_runs_pods_on_the_host(tmp_path: Path) -> None:
    report = exchange(tmp_path / "state", "setpriv", "--bounding-set=-all", "--inh-caps=-all")
    assert report["mode"] == "host"
    assert "user id 0 cannot be kept" in report["denied"]


def denying(setting: str) -> tuple[str, ...]:
    return "unshare", "-Urm", "sh", "-c", f'{setting}; exec "$@"', "sh"


@in_namespaces
@pytest.mark.parametrize(
    ("setting", "missing"),
    [
        pytest.param("echo 0 > /proc/sys/user/max_uts_namespaces", ["hostname"], marks=pytest.mark.weekly),
        pytest.param("echo 0 > /proc/sys/user/max_ipc_namespaces", ["ipc"], marks=pytest.mark.weekly),
        ("mount -t tmpfs none /proc/fs", ["proc"]),
        pytest.param("echo 0 > /proc/sys/user/max_user_namespaces", [], marks=pytest.mark.weekly),
    ],
)
def test_each_missing_capability_costs_only_itself(tmp_path: Path, setting: str, missing: list[str]) -> None:
    report = exchange(tmp_path / "state", *denying(setting))
    assert (report["mode"], report["missing"], report["own"]) == ("netns", missing, True)


@in_namespaces
@pytest.mark.parametrize(
    ("setting", "reason"),
    [
        ("echo 0 > /proc/sys/user/max_net_namespaces", "network namespaces are not permitted"),
        pytest.param(
            "echo 0 > /proc/sys/user/max_mnt_namespaces", "mount namespaces are not permitted", marks=pytest.mark.weekly
        ),
        pytest.param(
            "echo 0 > /proc/sys/user/max_pid_namespaces",
            "process id namespaces are not permitted",
            marks=pytest.mark.weekly,
        ),
    ],
)
def test_without_the_essential_ones_pods_run_on_the_host(tmp_path: Path, setting: str, reason: str) -> None:
    report = exchange(tmp_path / "state", *denying(setting))
    assert report["mode"] == "host"
    assert reason in report["denied"]
