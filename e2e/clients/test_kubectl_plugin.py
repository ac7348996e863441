"""`kubectl training`: the same program, found and completed by real kubectls."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from e2e.harness.binaries import KUBECTLS, programs
from e2e.support.paths import ROOT

from training_operator import __version__

pytestmark = pytest.mark.parametrize("minor", KUBECTLS)


def kubectl(minor: str, *arguments: str) -> str:
    environ = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    command = [str(programs()[KUBECTLS[minor]]), *arguments]
    done = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_it_is_the_same_program(minor: str) -> None:
    assert kubectl(minor, "training", "--version") == f"training-operator {__version__}\n"
    assert kubectl(minor, "training", "migrate", "--help").startswith("Usage: kubectl training migrate ")
    assert (
        json.loads(kubectl(minor, "training", "validate", "examples/jax/jaxjob.yaml", "--output=json"))["findings"]
        == []
    )


def test_kubectl_completes_its_command_lines(minor: str) -> None:
    *words, files = kubectl(minor, "__complete", "training", "local", "ru").splitlines()
    assert [word.partition("\t")[0] for word in words] == ["run", "runs"]
    assert files == ":4"
