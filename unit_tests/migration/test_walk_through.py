"""The walk through the verbs in docs/migration/index.md, done as it stands there."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner
from e2e.support.documentation.commands import BLOCK, with_prompts
from e2e.support.paths import ROOT

from training_migration.cli import migrate

TUTORIAL = (ROOT / "docs" / "tutorials" / "move-to-trainer-v2.md").read_text()
PAGE = (ROOT / "docs" / "migration" / "index.md").read_text()
EVIDENCE = "executed by unit_tests/migration/test_walk_through.py"
PROGRAM = ["training-operator", "migrate"]


def steps(page: str) -> list[tuple[str, int, list[str]]]:
    """Each command with its exit status and the lines that the page shows of its output."""
    found = []
    for evidence, text in BLOCK.findall(page):
        if evidence == EVIDENCE:
            for part in re.split(r"^\$ ", with_prompts(text), flags=re.MULTILINE)[1:]:
                line, *shown = part.splitlines()
                command, _, remark = line.partition("#")
                status = int(remark.removeprefix(" exit status ")[0]) if remark else 0
                found.append((command.strip(), status, [each for each in shown if each != "..."]))
    return found


@pytest.mark.parametrize(("page", "number"), [(PAGE, 12), (TUTORIAL, 3)], ids=["index.md", "move-to-trainer-v2.md"])
def test_every_command_does_what_the_page_says(
    page: str, number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    [naive] = re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    (tmp_path / "naive.yaml").write_text(naive)
    assert len(steps(page)) >= number
    for command, status, shown in steps(page):
        words = shlex.split(command)
        if words[0] == "cat":
            output = Path(words[1]).read_text()
        else:
            assert words[:2] == PROGRAM
            result = CliRunner().invoke(migrate, words[2:])
            assert result.exit_code == status, f"{command}: {result.output}"
            output = result.output
        answer = [" ".join(line.split()) for line in output.splitlines()]
        missing = [line for line in shown if " ".join(line.split()) not in answer]
        assert missing == [], command
    assert page != PAGE or "<svg" in (tmp_path / "report.html").read_text()


def test_the_python_of_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    [program] = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(program, "docs/migration/index.md", "exec"), {})
    assert printed.getvalue() == "jax-linear exact 3\njax-language-model exact 2\n"
