"""The commands of docs/migration/compare.md, done as they stand there; `records` are of a real run of examples/jax."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner
from e2e.support.documentation.commands import BLOCK
from e2e.support.paths import ROOT

from training_migration.cli import migrate

DOCS = ROOT / "docs" / "migration"
EVIDENCE = "executed by unit_tests/migration/test_compare_page.py"


def test_every_command_does_what_the_page_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    shutil.copytree(Path(__file__).with_name("records"), tmp_path / "runs")
    [naive] = re.findall(r"^```yaml\n(.*?)^```$", (DOCS / "index.md").read_text(), re.MULTILINE | re.DOTALL)
    (tmp_path / "naive.yaml").write_text(naive)
    blocks = [text for evidence, text in BLOCK.findall((DOCS / "compare.md").read_text()) if evidence == EVIDENCE]
    commands = [part for text in blocks for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]]
    assert len(commands) == 5
    for part in commands:
        line, *shown = part.splitlines()
        command, _, remark = line.partition("#")
        result = CliRunner().invoke(migrate, shlex.split(command)[2:])
        assert result.exit_code == (int(remark.rpartition(" ")[2]) if remark else 0), result.output
        found = [" ".join(each.split()) for each in result.output.splitlines()]
        assert [each for each in shown if each != "..." and " ".join(each.split()) not in found] == []
    assert (tmp_path / "compared.html").read_text().count("<svg") == 3
