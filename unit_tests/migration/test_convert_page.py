"""The page on conversions shows what the command does."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner
from e2e.support.paths import ROOT

from training_migration.cli import migrate

PAGE = ROOT / "docs" / "migration" / "convert.md"


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE)


def test_the_example_is_what_comes_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given, written = blocks("yaml")
    command, found = blocks("console")[0].split("\n", 1)
    (tmp_path / "mnist.yaml").write_text(given)
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(migrate, shlex.split(command)[3:])
    assert (result.exit_code, result.stderr, result.stdout) == (0, found, written)


def test_the_lines_of_python_work() -> None:
    job = {
        "apiVersion": "kubeflow.org/v1",
        "kind": "JAXJob",
        "metadata": {"name": "job"},
        "spec": {
            "jaxReplicaSpecs": {"Worker": {"template": {"spec": {"containers": [{"name": "jax", "image": "x"}]}}}}
        },
    }
    names = {"job": job}
    exec(blocks("python")[0], names)
    assert names["conversion"]
