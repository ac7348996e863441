"""`local run` where the machine denies namespaces: no capabilities, and no user namespaces."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from e2e.support import marks
from e2e.support.denied_namespaces import DENIED
from e2e.support.local_node import needs_namespaces

from training_local.cluster.registry import STATE_VARIABLE

pytestmark = marks.local

PRINT_RANK = "import os; print('rank', os.environ['PROCESS_ID'], 'of', os.environ['NUM_PROCESSES'])"
CONTAINER = {"name": "jax", "image": "python", "command": ["python", "-c", PRINT_RANK]}
JOB = {
    "apiVersion": "kubeflow.org/v1",
    "kind": "JAXJob",
    "metadata": {"name": "little"},
    "spec": {"jaxReplicaSpecs": {"Worker": {"replicas": 2, "template": {"spec": {"containers": [CONTAINER]}}}}},
}


@needs_namespaces
@pytest.mark.skipif(not shutil.which("setpriv"), reason="util-linux is not there")
def test_a_job_succeeds_and_the_start_names_cause_and_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(STATE_VARIABLE, str(tmp_path / "state"))
    (tmp_path / "job.yaml").write_text(yaml.safe_dump(JOB))
    local = [sys.executable, "-c", "from training_operator.cli import main; main()", "local"]
    run = [*local, "run", "--timeout", "60", str(tmp_path / "job.yaml")]
    command = [*DENIED, *run]
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
