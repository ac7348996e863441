"""Jobs of one name in two namespaces: every verb takes the runtime of the TrainJob's own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from unit_tests.migration.conversions import jax, pytorch

from training_api.yaml_text import dump
from training_migration.cli import migrate

Json = dict[str, Any]


def in_namespace(job: Json, namespace: str) -> Json:
    return {**job, "metadata": {"name": "same", "namespace": namespace}}


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    """Jobs of v1, and what `convert` makes of them."""
    given, made = tmp_path / "v1", tmp_path / "v2"
    given.mkdir()
    workers = {"replicas": 3, "template": {"spec": {"containers": [{"name": "tensorflow", "image": "a:1"}]}}}
    servers = {
        "apiVersion": "kubeflow.org/v1",
        "kind": "TFJob",
        "spec": {"tfReplicaSpecs": {"Worker": workers, "PS": workers}},
    }
    jobs = {"a": jax(), "b": pytorch(2), "c": servers}
    for namespace, job in jobs.items():
        (given / f"{namespace}.yaml").write_text(dump([in_namespace(job, namespace)]))
    result = CliRunner().invoke(migrate, ["convert", str(given), "--target", "2.3", "-o", str(made)])
    assert result.exit_code == 0, result.stderr
    return given, made


def test_render_takes_the_runtime_of_the_namespace(folders: tuple[Path, Path]) -> None:
    result = CliRunner().invoke(migrate, ["render", str(folders[1]), "--target", "2.3", "--as-process"])
    assert result.exit_code == 0, result.output
    assert "JAX_PROCESS_ID" in result.stdout
    assert "PET_NODE_RANK" in result.stdout
    assert "TF_CONFIG" in result.stdout


def test_diff_takes_the_runtime_of_the_namespace(folders: tuple[Path, Path]) -> None:
    result = CliRunner().invoke(migrate, ["diff", *map(str, folders), "--target", "2.3"])
    assert result.exit_code == 0, result.output


def test_lint_takes_the_runtime_of_the_namespace(folders: tuple[Path, Path]) -> None:
    result = CliRunner().invoke(migrate, ["lint", str(folders[1]), "--target", "2.3"])
    assert result.exit_code == 0, result.output
    assert "MIG501" not in result.stdout
