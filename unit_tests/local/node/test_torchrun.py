"""The `torchrun` of pods: options for torch 1.x on Python 3.11, without which it ends at once."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from training_local.node import tools


@pytest.mark.parametrize(
    ("version", "arguments"),
    [("1.13.0a0", "['-r', '1', '-t', '1', 'train.py', '--x']"), ("2.9.1", "['train.py', '--x']")],
)
def test_options_by_version(version: str, arguments: str, tmp_path: Path) -> None:
    package = tmp_path / "torch" / "distributed"
    package.mkdir(parents=True)
    (tmp_path / "torch" / "__init__.py").write_text(f"__version__ = {version!r}")
    (package / "__init__.py").touch()
    (package / "run.py").write_text("import sys; print(sys.argv[1:], __name__)")
    tools.install(tmp_path / "bin", Path(sys.executable))
    command: list[str | Path] = [tmp_path / "bin" / "torchrun", "train.py", "--x"]
    done = subprocess.run(command, env={"PYTHONPATH": str(tmp_path)}, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == (f"{arguments} __main__\n", "")


def test_without_torch_it_is_the_missing_module(tmp_path: Path) -> None:
    tools.install(tmp_path / "bin", Path(sys.executable))
    command: list[str | Path] = [tmp_path / "bin" / "torchrun", "train.py"]
    done = subprocess.run(command, env={"PYTHONPATH": ""}, capture_output=True, text=True, check=False)
    assert done.stderr.splitlines()[-1] == "ModuleNotFoundError: No module named 'torch'"
