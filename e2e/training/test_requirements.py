"""Frameworks and libraries that are required may neither be missing nor be misspelt."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from e2e.support.paths import ROOT

COLLECT = [sys.executable, "-m", "pytest", "-q", "-n", "0", "e2e/training/test_going_on.py"]


def run(environments: Path, required: str, *options: str) -> subprocess.CompletedProcess[str]:
    """Run the training tests of Lightning where no environment is."""
    command = [*COLLECT, f"--environments={environments}", f"--require-frameworks={required}", *options]
    weekly = {**os.environ, "FRESH_SEED": "0"}
    return subprocess.run(command, cwd=ROOT, env=weekly, capture_output=True, text=True, check=False)


def test_a_required_library_that_is_missing_fails(tmp_path: Path) -> None:
    done = run(tmp_path, "lightning", "-k", "lightning", "--setup-only")
    assert done.returncode == 1
    assert "lightning is required" in done.stdout


def test_an_unknown_name_is_rejected(tmp_path: Path) -> None:
    done = run(tmp_path, "ligthning", "--collect-only")
    assert "there is no ligthning" in done.stderr
