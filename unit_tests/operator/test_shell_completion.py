import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from training_operator.cli import command
from training_operator.shell_completion import SHELLS, complete_for_kubectl

FOLDER = Path(sys.executable).parent


def offered(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *words: str) -> list[str]:
    monkeypatch.setattr(sys, "argv", ["kubectl_complete-training", *words])
    complete_for_kubectl()
    return capsys.readouterr().out.splitlines()


@pytest.mark.parametrize("shell", SHELLS)
def test_every_shell_has_a_script_that_asks_this_program(shell: str) -> None:
    script = CliRunner().invoke(command, ["completion", shell]).stdout
    assert f"_TRAINING_OPERATOR_COMPLETE={shell}_complete " in script


def test_bash_completes_a_command_line() -> None:
    line = 'eval "$(training-operator completion bash)"; COMP_WORDS=(training-operator local ru); COMP_CWORD=2'
    script = f'{line}; _training_operator_completion training-operator; echo "${{COMPREPLY[@]}}"'
    environ = {**os.environ, "PATH": f"{FOLDER}:{os.environ['PATH']}"}
    bash = shutil.which("bash")
    assert bash is not None
    done = subprocess.run([bash, "-c", script], env=environ, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["run", "runs"]


def test_kubectl_gets_the_words_that_may_follow(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    [candidate, files] = offered(capsys, monkeypatch, "comp")
    assert candidate.startswith("completion\tWrite the script that completes ")
    assert files == ":4"
    assert offered(capsys, monkeypatch, "completion", "z") == ["zsh", ":4"]


def test_kubectl_is_told_where_files_may_follow(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert offered(capsys, monkeypatch, "local", "run", "--python", "") == [":0"]
