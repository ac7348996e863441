"""The shared suite's own runner comes to the same verdict with our deviations."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from e2e.harness.cluster import Cluster
from e2e.harness.operator import PROGRAM

HERE = Path(__file__).parent
RUNNER = HERE.parents[2] / "shared" / "conformance" / "conform.py"


def test_the_shared_runner_finds_only_meant_differences(cluster: Cluster, tmp_path: Path) -> None:
    if not RUNNER.is_file():
        pytest.skip("../shared/conformance/conform.py is not beside this project")
    if cluster.provider != "bare":
        pytest.skip("once, on the real API server, is enough")
    kubeconfig = f"--kubeconfig={cluster.kubeconfig}"
    suite = [
        sys.executable,
        str(RUNNER),
        "compare",
        kubeconfig,
        f"--deviations={HERE / 'deviations.yaml'}",
        "--only=pt-s*",
    ]
    operator = [str(PROGRAM), "run", kubeconfig, "--metrics-bind-address=0", "--health-probe-bind-address=0"]
    done = subprocess.run(
        [*suite, "--", *operator],
        cwd=tmp_path,
        env={**os.environ, "PATH": f"{Path(cluster.kubectl).parent}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith(" passed, 0 failed\n")
