"""`local run` where the machine denies namespaces: no capabilities, and no user namespaces."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from e2e.support import marks
from e2e.support.denied_namespaces import DENIED
from e2e.support.little_job import PRINT_RANK, little_job, write
from e2e.support.local_node import needs_namespaces
from e2e.support.warm import PROGRAM

from training_local.cluster.registry import STATE_VARIABLE

pytestmark = marks.local


@needs_namespaces
@pytest.mark.skipif(not shutil.which("setpriv"), reason="util-linux is not there")
def test_a_job_succeeds_and_the_start_names_cause_and_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(STATE_VARIABLE, str(tmp_path / "state"))
    job = write(tmp_path, little_job(*PRINT_RANK))
    command = [*DENIED, *PROGRAM, "local", "run", "--timeout", "60", job]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "worker-1 | rank 1 of 2" in ended.stdout
    start = ended.stdout.splitlines()
    assert (
        "Pods cannot be isolated on this machine: "
        "mount namespaces are not permitted (unshare: Operation not permitted)." in start
    )
    cause = "user.max_user_namespaces is 0; `sudo sysctl -w user.max_user_namespaces=15000` lets pods be isolated."
    assert cause in start
