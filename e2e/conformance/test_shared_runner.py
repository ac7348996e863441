"""The shared suite's own runner comes to the same verdict with our deviations."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from e2e.harness.cluster import Cluster
from e2e.harness.operator import running_operator
from e2e.harness.providers import provide

HERE = Path(__file__).parent
RUNNER = HERE.parents[2] / "shared" / "conformance" / "conform.py"


def test_the_shared_runner_finds_only_meant_differences(pytestconfig: pytest.Config, tmp_path: Path) -> None:
    if not RUNNER.is_file():
        pytest.skip("../shared/conformance/conform.py is not beside this project")
    if pytestconfig.getoption("--provider") != "bare":
        pytest.skip("once, on the real API server, is enough")
    # Both of its own: the runner waits neither for an operator that has much to do nor for one that starts.
    with provide("bare") as cluster, running_operator(cluster.kubeconfig, tmp_path / "operator.log"):
        done = run_suite(cluster, tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith(" passed, 0 failed\n")


def run_suite(cluster: Cluster, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a part of the suite in front of our operator."""
    kubeconfig = f"--kubeconfig={cluster.kubeconfig}"
    suite = [
        sys.executable,
        str(RUNNER),
        "compare",
        kubeconfig,
        f"--deviations={HERE / 'deviations.yaml'}",
        "--only=pt-s*",
    ]
    return subprocess.run(
        suite,
        cwd=folder,
        env={**os.environ, "PATH": f"{Path(cluster.kubectl).parent}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
