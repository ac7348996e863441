"""What runs on macOS and Windows, played on this machine by `e2e/support/other_system`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from e2e.support import marks
from e2e.support.little_job import PRINT_RANK, little_job, write
from e2e.support.paths import ROOT

from training_local.cluster.registry import STATE_VARIABLE
from training_operator.cli import command as program

pytestmark = marks.local

PACKAGES = ("training_api", "training_controllers", "training_operator", "training_migration", "training_local")
LOOK = """
import importlib, json, os, pkgutil, sys

def look(packages):
    lacking = [name for name in ("fork", "pidfd_open") if not hasattr(os, name)]
    try:
        import fcntl
    except ModuleNotFoundError as error:
        lacking.append(str(error))
    cannot = [name for package in packages for name in failed_imports(package)]
    return {"platform": sys.platform, "lacking": lacking, "failed": cannot}

def failed_imports(package):
    for each in pkgutil.walk_packages(importlib.import_module(package).__path__, f"{package}."):
        if not each.name.endswith("__main__"):
            try:
                importlib.import_module(each.name)
            except (AttributeError, ImportError, KeyError):
                yield each.name
"""
PROGRAMS = {f"training_local.node.sandbox.{name}" for name in ("children", "isolated", "shared", "supervisor")} | {
    "training_local.node.torchrun"
}
"""Modules of programs that are started with what they need."""
UNIX_OPERATOR = {f"training_operator.{name}" for name in ("app", "connections", "descriptors", "health", "serve")}
UNIX_MIGRATION = {"training_migration.runs.local", "training_migration.runs.both_local"}
"""What starts pods on this machine."""
JOB = "examples/jax/jaxjob.yaml"


def on(system: str, *arguments: str, home: Path) -> subprocess.CompletedProcess[str]:
    """Run Python there; processes are few because each of them loads everything."""
    played = {"PYTHONPATH": "e2e/support/other_system", "PLAYED_SYSTEM": system, STATE_VARIABLE: str(home)}
    return subprocess.run(
        [sys.executable, *arguments],
        env={**os.environ, **played},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


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
import pathlib
from click.testing import CliRunner
from training_operator.cli import command
results = {line: CliRunner().invoke(command, line.split()) for line in sys.argv[1].splitlines()}
found = {line: [result.exit_code, result.stdout, result.stderr] for line, result in results.items()}
from training_local.run.archive import archived_runs
found["runs"] = archived_runs(pathlib.Path(sys.argv[2]))
print(json.dumps(found | look(sys.argv[3:])))
"""
RUN_JOB = """
print(json.dumps(look(sys.argv[2:])), flush=True)
from training_operator.cli import main
sys.argv[1:] = ["local", "run", sys.argv[1], "--timeout", "60"]
main()
"""


@pytest.fixture(scope="module")
def windows(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Exit status, output and errors of each command there, and what is lacking; one process for all."""
    lines, home = "\n".join([*COMMANDS, LOCAL_RUN, "run"]), tmp_path_factory.mktemp("runs")
    done = on("win32", "-c", LOOK + RUN_ALL, lines, str(home), *PACKAGES[:-1], home=home)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.fixture(scope="module")
def macos(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], subprocess.CompletedProcess[str]]:
    """What is lacking there, and how a job runs there; one process for both."""
    home = tmp_path_factory.mktemp("macos")
    done = on("darwin", "-c", LOOK + RUN_JOB, write(home, little_job(*PRINT_RANK)), *PACKAGES, home=home)
    assert done.stdout, done.stderr
    return json.loads(done.stdout.splitlines()[0]), done


def test_the_play_takes_away_what_the_system_lacks(
    windows: dict[str, Any], macos: tuple[dict[str, Any], object]
) -> None:
    assert (macos[0]["platform"], macos[0]["lacking"]) == ("darwin", ["pidfd_open"])
    assert windows["platform"] == "win32"
    assert windows["lacking"] == ["fork", "pidfd_open", "No module named 'fcntl'"]


def test_everything_can_be_imported_on_macos(macos: tuple[dict[str, Any], object]) -> None:
    assert set(macos[0]["failed"]) == PROGRAMS


def test_what_is_no_operator_and_starts_no_pods_can_be_imported_on_windows(windows: dict[str, Any]) -> None:
    assert set(windows["failed"]) == UNIX_OPERATOR | UNIX_MIGRATION


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
        ("run", "This system (win32) lacks the module: use Linux, or WSL2 on Windows."),
    ],
)
def test_what_does_not_run_on_windows_says_what_serves(windows: dict[str, Any], line: str, sentence: str) -> None:
    status, out, errors = windows[line]
    assert (status, out) == (1, "")
    assert sentence in errors
    assert len(errors.splitlines()) == 1


def test_a_job_runs_on_macos_as_processes_and_what_is_missing_is_said(
    macos: tuple[object, subprocess.CompletedProcess[str]],
) -> None:
    done = macos[1]
    assert done.returncode == 0, done.stderr
    assert {"worker-0 | rank 0 of 2", "worker-1 | rank 1 of 2"} <= set(done.stdout.splitlines())
    assert "without a network, host name, process list, mounts, limits or measured usage of their own" in done.stdout


def test_runs_that_are_kept_can_be_read_on_windows(windows: dict[str, Any]) -> None:
    assert windows["runs"] == []
