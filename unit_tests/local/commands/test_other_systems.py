"""What runs on macOS and Windows, played on this machine by `e2e/support/other_system`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner
from e2e.support.paths import ROOT

from training_local.cluster.registry import STATE_VARIABLE
from training_operator.cli import command as program

PACKAGES = ("training_api", "training_controllers", "training_operator", "training_migration", "training_local")
IMPORT_ALL = """
import importlib, pkgutil, sys
for package in sys.argv[1:]:
    for each in pkgutil.walk_packages(importlib.import_module(package).__path__, f"{package}."):
        if not each.name.endswith("__main__"):
            try:
                importlib.import_module(each.name)
            except (AttributeError, ImportError, KeyError):
                print(each.name)
"""
PROGRAMS = {f"training_local.node.sandbox.{name}" for name in ("children", "isolated", "shared", "supervisor")} | {
    "training_local.node.torchrun"
}
"""Modules of programs that are started with what they need."""
UNIX_OPERATOR = {f"training_operator.{name}" for name in ("app", "connections", "descriptors", "health", "serve")}
UNIX_MIGRATION = {"training_migration.runs.local", "training_migration.runs.both_local"}
"""What starts pods on this machine."""
JOB = "examples/jax/jaxjob.yaml"


def on(system: str, *arguments: str, home: Path | None = None) -> subprocess.CompletedProcess[str]:
    played = {"PYTHONPATH": "e2e/support/other_system", "PLAYED_SYSTEM": system}
    state = {STATE_VARIABLE: str(home)} if home else {}
    return subprocess.run(
        [sys.executable, *arguments],
        env={**os.environ, **played, **state},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def command(system: str, *arguments: str, home: Path | None = None) -> subprocess.CompletedProcess[str]:
    return on(system, "-c", "from training_operator.cli import main; main()", *arguments, home=home)


def test_the_play_takes_away_what_the_system_lacks() -> None:
    look = "import os, sys; print(sys.platform, hasattr(os, 'fork'), hasattr(os, 'pidfd_open')); import fcntl"
    assert on("darwin", "-c", look).stdout == "darwin True False\n"
    windows = on("win32", "-c", look)
    assert windows.stdout == "win32 False False\n"
    assert windows.stderr.endswith("No module named 'fcntl'\n")


def test_everything_can_be_imported_on_macos() -> None:
    assert set(on("darwin", "-c", IMPORT_ALL, *PACKAGES).stdout.split()) == PROGRAMS


def test_what_is_no_operator_and_starts_no_pods_can_be_imported_on_windows() -> None:
    refused = set(on("win32", "-c", IMPORT_ALL, *PACKAGES[:-1]).stdout.split())
    assert refused == UNIX_OPERATOR | UNIX_MIGRATION


LOCAL_RUN = f"local run {JOB}"
COMMANDS = f"""
--help
local --help
validate {JOB}
crds
migrate survey {JOB} --target 2.3
migrate convert {JOB} --target 2.3
migrate lint {JOB} --target 2.3
migrate render {JOB} --target 2.3
migrate run --help
migrate probe --help
migrate verify --help
""".strip().splitlines()
RUN_ALL = """
import json, pathlib, sys
from click.testing import CliRunner
from training_operator.cli import command
results = {line: CliRunner().invoke(command, line.split()) for line in sys.argv[1].splitlines()}
found = {line: [result.exit_code, result.stdout, result.stderr] for line, result in results.items()}
from training_local.run.archive import archived_runs
found["runs"] = archived_runs(pathlib.Path(sys.argv[2]))
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def windows(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Exit status, output and errors of each command there; they share the process."""
    lines = "\n".join([*COMMANDS, LOCAL_RUN, "run"])
    found: dict[str, Any] = json.loads(on("win32", "-c", RUN_ALL, lines, str(tmp_path_factory.mktemp("runs"))).stdout)
    return found


def test_commands_for_files_run_on_windows_as_here(windows: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    for line in COMMANDS:
        here = CliRunner().invoke(program, line.split())
        assert windows[line] == [here.exit_code, here.stdout, here.stderr]
        assert here.stdout and here.exit_code in ((0, 1) if line.startswith("migrate") else (0,)), line


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        (LOCAL_RUN, "on Windows it runs within WSL2 (`wsl --install`); `validate` and `migrate` run here"),
        ("run", "This system (win32) has no such module: it needs Linux, on Windows by WSL2."),
    ],
)
def test_what_does_not_run_on_windows_says_what_serves(windows: dict[str, Any], line: str, sentence: str) -> None:
    status, out, errors = windows[line]
    assert (status, out) == (1, "")
    assert sentence in errors
    assert len(errors.splitlines()) == 1


def test_a_job_runs_on_macos_as_processes_and_what_is_missing_is_said(tmp_path: Path) -> None:
    program = "import os; print('rank', os.environ['PROCESS_ID'])"
    container = {"name": "jax", "image": "python", "command": ["python", "-c", program]}
    worker = {"replicas": 2, "template": {"spec": {"containers": [container]}}}
    job = {"apiVersion": "kubeflow.org/v1", "kind": "JAXJob", "metadata": {"name": "little"}}
    (tmp_path / "job.yaml").write_text(yaml.safe_dump(job | {"spec": {"jaxReplicaSpecs": {"Worker": worker}}}))
    done = command("darwin", "local", "run", str(tmp_path / "job.yaml"), "--timeout", "60", home=tmp_path)
    assert done.returncode == 0, done.stderr
    assert {"worker-0 | rank 0", "worker-1 | rank 1"} <= set(done.stdout.splitlines())
    assert "without a network, host name, process list, mounts, limits or measured usage of their own" in done.stdout


def test_runs_that_are_kept_can_be_read_on_windows(windows: dict[str, Any]) -> None:
    assert windows["runs"] == []
