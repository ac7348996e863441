"""A package with a kind of its own: installed, and its job run on the local cluster."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from e2e.support import marks
from e2e.support.every_kind import PLUGIN, install_plugin
from e2e.support.warm import PROGRAM

from training_local.cluster.registry import STATE_VARIABLE

pytestmark = marks.local

JOB = str(PLUGIN / "deepspeedjob.yaml")


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where pip has installed the package; its build leaves nothing in the repository."""
    folder = tmp_path_factory.mktemp("installed")
    install_plugin(folder)
    return folder


def command(path: Path, state: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(path), STATE_VARIABLE: str(state)}
    return subprocess.run(
        [*PROGRAM, *arguments], capture_output=True, text=True, check=False, timeout=90, env=environment
    )


def test_its_job_succeeds(installed: Path, tmp_path: Path) -> None:
    done = command(installed, tmp_path, "local", "run", JOB)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "launcher-0 | deepspeed-sum-worker-1 slots=2 sum so far 3" in done.stdout
    assert "Succeeded  True  DeepSpeedJob deepspeed-sum is successfully completed." in " ".join(
        done.stdout.splitlines()
    )
