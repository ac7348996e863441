"""Shells and machines that few have: a full disk, output without letters or closed, a folder that is gone."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from e2e.support.little_job import little_job, write
from e2e.support.local_node import needs_namespaces
from e2e.support.warm import PROGRAM
from unit_tests.local.conftest import Local

from training_local.cluster.registry import STATE_VARIABLE

JOB = little_job("sh", "-c", "echo größe ☃; exit 1", workers=1)
FULL = 'mount -t tmpfs -o size=4k,mode=700 none "$0" && head -c 4096 /dev/zero > "$0/full" && exec "$@"'


@pytest.fixture
def state(state: Path) -> Path:
    state.mkdir(mode=0o700)
    return state


def local_process(*arguments: str | bytes, **more: str) -> subprocess.CompletedProcess[str]:
    command = [*PROGRAM, "local", *arguments]
    return subprocess.run(command, env={**os.environ, **more}, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.weekly  # two interpreters load everything
def test_output_and_names_that_cannot_be_written_are_escaped(tmp_path: Path, state: Path) -> None:
    file = os.fsencode(tmp_path) + b"/j\xf6b.yaml"
    Path(write(tmp_path, JOB)).rename(os.fsdecode(file))
    ascii_only = {"PYTHONIOENCODING": "ascii"}
    ended = local_process("run", file, **ascii_only)
    assert (ended.returncode, ended.stderr) == (1, "")
    assert "worker-0 | gr\\xf6\\xdfe \\u2603\n" in ended.stdout
    assert "To run it again: " in ended.stdout
    again = local_process("logs", "--run", "little", **ascii_only)
    assert (again.returncode, again.stderr, again.stdout) == (0, "", "worker-0 | gr\\xf6\\xdfe \\u2603\n")


@pytest.mark.weekly  # a whole cluster of its own
@needs_namespaces
def test_a_full_disk_for_objects_is_one_sentence(tmp_path: Path, state: Path) -> None:
    data = tmp_path / "data"
    data.mkdir(mode=0o700)
    small = 'mount -t tmpfs -o size=64k,mode=700 none "$0" && exec "$@"'
    inside = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", small, str(data), *PROGRAM, "local"]
    command = [*inside, "up", "--sandbox", "host", "--data", str(data)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    said = f"training-operator local: --data {data}: the change could not be stored: database or disk is full\n"
    assert (ended.returncode, ended.stdout, ended.stderr) == (2, "", said)


@needs_namespaces
@pytest.mark.parametrize(
    "verb",
    [
        pytest.param(("up", "--detach"), marks=pytest.mark.weekly, id="up"),
        pytest.param(("run", "job.yaml", "--no-archive"), id="run"),
    ],
)
def test_a_full_disk_is_one_sentence(
    tmp_path: Path, state: Path, monkeypatch: pytest.MonkeyPatch, verb: tuple[str, ...]
) -> None:
    write(tmp_path, JOB)
    monkeypatch.chdir(tmp_path)
    inside = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", FULL, str(state), *PROGRAM, "local"]
    ended = subprocess.run([*inside, *verb], capture_output=True, text=True, timeout=60, check=False)
    said = f"training-operator local: no space is left on the disk of {state} ({STATE_VARIABLE} moves it)"
    assert (ended.returncode, ended.stdout) == (2, ""), ended.stderr
    assert ended.stderr.startswith(said) and ended.stderr.count("\n") == 1


def test_a_state_that_cannot_be_kept_names_the_way_out(tmp_path: Path, local: Local, state: Path) -> None:
    (state / "runs").write_text("in the way")
    status, out, err = local("run", write(tmp_path, JOB))
    assert (status, out) == (2, "")
    assert f"runs cannot be recorded there: File exists; set {STATE_VARIABLE} to a folder of your own" in err


def test_a_folder_that_is_gone_is_one_sentence(
    tmp_path: Path, state: Path, local: Local, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    status, out, err = local("run", write(tmp_path, JOB))
    assert (status, out) == (2, "")
    assert "the current folder, the working directory of pods, does not exist: change to another one" in err


def test_a_job_whose_output_is_closed_has_its_exit_status(tmp_path: Path, state: Path) -> None:
    closed = ["sh", "-c", '"$@" <&- >&-', "sh", *PROGRAM, "local", "run", write(tmp_path, JOB)]
    ended = subprocess.run(closed, capture_output=True, text=True, timeout=60, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (1, "", "")
    (summary,) = state.glob("runs/*/summary.json")
    assert '"Failed"' in summary.read_text()
