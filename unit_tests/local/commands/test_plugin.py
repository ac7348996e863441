"""A package with a kind of its own: installed, and its job run on the local cluster."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from e2e.support.every_kind import EVERY_KIND, PLUGIN, install_plugin

from training_api.crd.build import build
from training_local.cluster.registry import STATE_VARIABLE

PACKAGE = "training-operator-deepspeed"
JOB = str(PLUGIN / "deepspeedjob.yaml")


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where pip has installed the package; its build leaves nothing in the repository."""
    folder = tmp_path_factory.mktemp("installed")
    install_plugin(folder)
    return folder


def command(path: Path, state: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    program = [sys.executable, "-c", "from training_operator.cli import main; main()", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(path), STATE_VARIABLE: str(state)}
    return subprocess.run(program, capture_output=True, text=True, check=False, timeout=90, env=environment)


def objects(done: subprocess.CompletedProcess[str]) -> list[dict[str, Any]]:
    assert done.returncode == 0, done.stderr
    return [*yaml.load_all(done.stdout, yaml.CSafeLoader)]


def test_its_job_succeeds(installed: Path, tmp_path: Path) -> None:
    done = command(installed, tmp_path, "local", "run", JOB)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "launcher-0 | deepspeed-sum-worker-1 slots=2 sum so far 3" in done.stdout
    assert "Succeeded  True  DeepSpeedJob deepspeed-sum is successfully completed." in " ".join(
        done.stdout.splitlines()
    )


def test_where_the_package_is_missing_its_kind_is_unknown(tmp_path: Path) -> None:
    done = command(tmp_path, tmp_path, "local", "run", JOB)
    assert done.returncode != 0
    assert "expected one training job (PyTorchJob, TFJob, XGBoostJob, MPIJob, PaddleJob, JAXJob)" in done.stderr


def test_its_definition_and_its_roles_are_written(installed: Path, tmp_path: Path) -> None:
    assert objects(command(installed, tmp_path, "crds", "--with", PACKAGE)) == [build(EVERY_KIND["DeepSpeedJob"])]
    assert command(installed, tmp_path, "crds", "--with", PACKAGE, "--output", str(tmp_path / "new")).returncode == 0
    (file,) = (tmp_path / "new").iterdir()
    assert file.name == "kubeflow.org_deepspeedjobs.yaml"
    role, binding = objects(command(installed, tmp_path, "rbac", "--with", "Training_Operator.DeepSpeed", "-n", "team"))
    assert {(rule["resources"][0], *rule["verbs"]) for rule in role["rules"]} == {
        ("deepspeedjobs", "delete", "list", "watch"),
        ("deepspeedjobs/status", "patch"),
        ("deepspeedjobs/finalizers", "update"),
        ("configmaps", "create", "get", "list", "update", "watch"),
    }
    assert role["metadata"]["name"] == binding["roleRef"]["name"] == "training-operator-deepspeedjobs"
    assert binding["subjects"][0]["namespace"] == "team"


def test_a_package_without_a_framework_is_a_usage_error(installed: Path, tmp_path: Path) -> None:
    done = command(installed, tmp_path, "rbac", "--with", "pydantic")
    assert (done.returncode, done.stderr.splitlines()[-1]) == (
        2,
        f"Error: --with: pydantic is no package with a framework; installed are: {PACKAGE}",
    )
