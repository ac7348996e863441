"""Whatever is wrong outside: one clear sentence, no traceback, and the other jobs go on."""

from __future__ import annotations

import json
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from e2e.harness.client import Api
from e2e.harness.cluster import Cluster
from e2e.harness.jobs import Namespace
from e2e.harness.operator import PROGRAM, Operator

MEBIBYTE = 1 << 20


@pytest.fixture
def jobs(api: Api, namespace: str) -> Namespace:
    return Namespace(api, namespace)


@pytest.fixture
def started(tmp_path: Path) -> Iterator[Any]:
    """Start an operator that need not become ready; it is ended after the test."""
    operators: list[Operator] = []

    def start(kubeconfig: Path, *flags: str) -> Operator:
        operators.append(Operator(kubeconfig, tmp_path / f"operator-{len(operators)}.log", *flags))
        return operators[-1]

    yield start
    for operator in operators:
        operator.child.kill()


def refusal(*flags: str) -> str:
    """What the operator says before it gives up by itself."""
    done = subprocess.run(
        [PROGRAM, "run", "--metrics-bind-address=0", "--health-probe-bind-address=0", *flags],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    said = done.stdout + done.stderr
    assert done.returncode != 0
    assert "Traceback" not in said
    return said


def test_missing_kubeconfig(tmp_path: Path) -> None:
    missing = tmp_path / "no-such-file"
    assert str(missing) in refusal(f"--kubeconfig={missing}")


def test_kubeconfig_that_is_none(tmp_path: Path) -> None:
    file = tmp_path / "kubeconfig"
    file.write_text("clusters: 5\n")
    assert str(file) in refusal(f"--kubeconfig={file}")


def test_port_in_use(cluster: Cluster) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        said = refusal(f"--kubeconfig={cluster.kubeconfig}", f"--metrics-bind-address={address}")
    assert address in said


def _kubeconfig(cluster: Cluster, path: Path, **changes: Any) -> Path:
    """The cluster's kubeconfig with another server or user."""
    content = yaml.safe_load(cluster.kubeconfig.read_text())
    if "server" in changes:
        content["clusters"][0]["cluster"]["server"] = changes["server"]
    if "token" in changes:
        content["users"][0]["user"] = {"token": changes["token"]}
    path.touch(mode=0o600)
    path.write_text(json.dumps(content))
    return path
