"""The workflows, as actionlint reads them."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from e2e.harness.binaries import ACTIONLINT, programs
from e2e.support import marks
from e2e.support.paths import ROOT

pytestmark = marks.local  # no cluster at all; once is enough


def actionlint(text: str) -> str:
    command = [str(programs((ACTIONLINT,))["actionlint"]), "-shellcheck=", "-pyflakes=", "-no-color", "-"]
    return subprocess.run(command, cwd=ROOT, input=text, stdout=subprocess.PIPE, text=True, check=False).stdout


@pytest.mark.parametrize("file", sorted((ROOT / ".github" / "workflows").iterdir()), ids=lambda file: file.name)
def test_workflow(file: Path) -> None:
    text = file.read_text()
    assert actionlint(text) == ""
    assert "undefined variable" in actionlint(
        text.replace("${{ github.", "${{ gitub.").replace("${{ matrix.", "${{ matrx.")
    )
