"""The harness leaves nothing behind, and says in one sentence why it cannot provide a cluster."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from e2e.harness.binaries import KUBERNETES, programs
from e2e.harness.errors import HarnessError
from e2e.harness.json_lines import json_lines
from e2e.harness.processes import Child
from e2e.harness.providers import provide
from e2e.node.requirements import PACKAGES
from e2e.support.paths import ROOT


def test_children_die_with_a_parent_that_is_killed(tmp_path: Path) -> None:
    program = (
        "import pathlib, sys, time; from e2e.harness.processes import Child; "
        "print(Child(['sleep', '1000'], pathlib.Path(sys.argv[1])).pid, flush=True); time.sleep(1000)"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path / "log")], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    _wait_for(lambda: _state(child) == "(sleep) S")  # setpriv has done its part
    parent.kill()
    parent.wait()
    _wait_for(lambda: _state(child) in ("", "(sleep) Z"))  # gone, or not yet collected by init


def test_no_two_processes_are_given_the_same_port() -> None:
    program = "import random; from e2e.harness.ports import free_ports; random.seed(7); print(*free_ports(3)); input()"
    command = [sys.executable, "-c", program]
    with (
        subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as first,
        subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as second,
    ):
        assert first.stdout and second.stdout
        ports = [*first.stdout.readline().split(), *second.stdout.readline().split()]
        first.communicate("\n")
        second.communicate("\n")
    assert len(set(ports)) == 6


def test_a_json_line_is_read_once_it_is_whole(tmp_path: Path) -> None:
    log = tmp_path / "log"
    whole = 'a traceback\n{"name": "é"}\n'.encode()
    for end in range(len(whole) + 1):
        log.write_bytes(whole[:end])
        assert list(json_lines(log)) == ([{"name": "é"}] if end == len(whole) else [])
    assert list(json_lines(log, since=len(whole))) == []


def _state(pid: int) -> str:
    """Name and state letter of a process, empty if there is none."""
    try:
        return " ".join((Path("/proc") / str(pid) / "stat").read_text().split()[1:3])
    except OSError:
        return ""


def _wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_child_that_ends_is_reported_with_its_last_words(tmp_path: Path) -> None:
    child = Child(["sh", "-c", "echo no such flag >&2; exit 3"], tmp_path / "log")
    child.process.wait()
    with pytest.raises(HarnessError, match="sh ended with status 3:\nno such flag"):
        child.check_alive()


def test_a_child_that_ignores_sigterm_is_killed(tmp_path: Path) -> None:
    child = Child(["sh", "-c", "trap '' TERM; echo ready; while :; do sleep 0.1; done"], tmp_path / "log")
    _wait_for(lambda: "ready" in child.output())
    assert child.stop(grace=0.3) == -signal.SIGKILL


def test_up_ends_with_ctrl_c_and_leaves_no_folder(tmp_path: Path) -> None:
    up = subprocess.Popen(
        [sys.executable, "-m", "e2e.harness", "up"],
        cwd=ROOT,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert up.stdout is not None
    kubeconfig = Path(up.stdout.readline().strip().removeprefix("export KUBECONFIG="))
    assert kubeconfig.stat().st_mode & 0o777 == 0o600
    up.send_signal(signal.SIGINT)
    assert up.wait(30) == 0
    assert list(tmp_path.iterdir()) == []


def test_without_go_there_is_a_way_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRAINING_E2E_CACHE", str(tmp_path))
    monkeypatch.setenv("PATH", "")
    with pytest.raises(HarnessError, match=r"Go is not installed to build it: install Go .*, or use PROVIDER="):
        programs()


def test_kind_says_what_it_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(HarnessError, match="needs docker in PATH"), provide("kind"):
        pass


def test_a_node_says_what_it_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setitem(PACKAGES, "/nonexistent", "no-such-package")
    with pytest.raises(HarnessError, match=r"needs the Debian packages .*no-such-package.*: `.*e2e\.node install`$"):
        provide("node").__enter__()
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(HarnessError, match=r"^a real node needs root"):
        provide("node").__enter__()


def test_existing_needs_a_kubeconfig(tmp_path: Path) -> None:
    with pytest.raises(HarnessError, match="needs a kubeconfig file"), provide("existing", tmp_path / "none"):
        pass


def test_the_cache_folder_tells_versions_apart() -> None:
    assert KUBERNETES.version == "v1.34.4"
    assert KUBERNETES.stamp.startswith("kubernetes-v1.34.4-")
    assert "k8s.io/component-base/version.gitMinor=34" in KUBERNETES.linker_flags
