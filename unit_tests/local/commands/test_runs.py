"""What `local run` keeps, and how it is found again: `local runs`, `local logs --run`."""

from __future__ import annotations

import json
import re
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
from e2e.support.little_job import little_job, write
from e2e.support.warm import Warm
from unit_tests.local.conftest import Local

from training_local.run.archive import archived_runs, find_run

PASSWORD = "open-sesame@little-worker-0:23456"
SCRIPT = """
if [ -e /kept/again ]; then echo second; exit 0; fi
: > /kept/again; echo first; exit 1
"""


@pytest.fixture(autouse=True)
def runs(state: Path) -> Path:
    return state / "runs"


def written(folder: Path, script: str = SCRIPT) -> str:
    """A job of two workers that need a secret, whose value names one of them."""
    job = little_job("sh", "-c", script, "$(PASSWORD)", restart="OnFailure")
    pod = job["spec"]["jaxReplicaSpecs"]["Worker"]["template"]["spec"]
    pod["volumes"] = [{"name": "kept", "emptyDir": {}}]
    pod["containers"][0] |= {
        "env": [{"name": "PASSWORD", "valueFrom": {"secretKeyRef": {"name": "keys", "key": "password"}}}],
        "volumeMounts": [{"name": "kept", "mountPath": "/kept"}],
    }
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "keys"}, "stringData": {"password": PASSWORD}}
    return write(folder, secret, job)


@pytest.mark.parametrize("sandbox", ["auto", "host"])
def test_a_run_is_kept_whole_and_without_its_secrets(tmp_path: Path, runs: Path, local: Local, sandbox: str) -> None:
    status, out, _ = local("run", "--sandbox", sandbox, written(tmp_path))
    (run,) = archived_runs()
    assert (status, run.folder.parent) == (0, runs)
    assert out.endswith(f"Kept in {run.folder}: training-operator local logs --run {run.id}\n")
    assert run.summary is not None
    assert (run.outcome, run.summary.exit_status, run.summary.restarts) == ("Succeeded", 0, 2)
    assert [(each.replica, each.phase, each.restarts) for each in run.summary.replicas] == [
        ("worker-0", "Succeeded", 1),
        ("worker-1", "Succeeded", 1),
    ]
    texts = [(log.replica.short_name, log.attempt, [line.text for line in log.lines()]) for log in run.logs()]
    assert texts == [
        (f"worker-{i}", attempt, [text]) for i in (0, 1) for attempt, text in enumerate(("first", "second"))
    ]
    assert {"Scheduled", "Started", "JAXJobSucceeded"} <= {event["reason"] for event in run.events()}
    phases = [each.object["status"].get("phase") for each in run.statuses() if each.object["kind"] == "Pod"]
    assert phases.count("Succeeded") == 2
    assert run.job["metadata"]["name"] == "little"
    files = [file for file in run.folder.rglob("*") if file.is_file()]
    assert not any(PASSWORD.encode() in file.read_bytes() for file in files)
    assert {file.stat().st_mode & 0o777 for file in files} == {0o600}
    assert {folder.stat().st_mode & 0o777 for folder in (runs, *run.folder.rglob("*/"))} == {0o700}
    shown = json.loads(local("runs")[1])
    assert [(each["run"], each["outcome"], each["restarts"]) for each in shown] == [(run.id, "Succeeded", 2)]
    lines = local("logs", "--run", "little", "worker-1", "--json")[1].splitlines()
    assert [json.loads(each)["log"]["text"] for each in lines] == ["first", "second"]
    assert local("logs", "--run", run.id, "-p", "worker-0")[:2] == (0, "worker-0 | first\n")


def test_how_it_failed_is_kept_and_json_names_the_place(tmp_path: Path, local: Local) -> None:
    status, out, _ = local("run", "--json", "--timeout", "0", written(tmp_path))
    run = find_run("little")
    assert (status, json.loads(out.splitlines()[-1])["end"]["archive"]) == (124, str(run.folder))
    assert run.summary is not None
    assert (run.outcome, run.summary.exit_status) == ("TimedOut", 124)
    assert run.summary.message.startswith("JAXJob default/little did not end within 0 s")


def test_nothing_is_kept_of_who_does_not_want_it(tmp_path: Path, runs: Path, local: Local) -> None:
    _, out, _ = local("run", "--no-archive", "--timeout", "0", written(tmp_path))
    assert (runs.exists(), "Kept in" in out) == (False, False)


def test_what_a_killed_command_has_seen_can_be_read(tmp_path: Path, local: Local) -> None:
    file = written(tmp_path, "echo before the end; exec sleep 600")
    with Warm(["local", "run", file], stdout=subprocess.PIPE) as process:
        process.until("Running: ")
        assert find_run("little").outcome == "Running"
        process.send_signal(signal.SIGKILL)
    run = find_run("little")
    assert (run.outcome, run.record.command[-1]) == ("Killed", file)
    assert local("logs", "--run", "little", "worker-0")[:2] == (0, "worker-0 | before the end\n")
    assert {replica.phase for replica in run.replicas()} == {"Running"}
    assert "Started" in {event["reason"] for event in run.events()}


REJECTED: list[tuple[list[str], str]] = [
    (["logs", "--run", "x"], "--run x: no such run is recorded; `training-operator local runs` lists them"),
    (["logs", "--run", "x", "-f"], "--run reads a recorded run, and excludes --follow, --name"),
    (["run", "--archive-size", "much", "x"], "'much' is not a quantity of bytes such as 64Gi"),
]


@pytest.mark.parametrize(("arguments", "message"), REJECTED)
def test_rejected_arguments(local: Local, arguments: list[str], message: str) -> None:
    status, _, err = local(*arguments)
    assert (status, message in err) == (2, True), err


def without_seconds(table: str) -> str:
    """A table in which the age of a run does not count."""
    return re.sub(r"\d+s", "?s", table)


def test_a_table_for_people(tmp_path: Path, local: Local, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    shown: dict[str, Any] = {"nothing": local("runs")[1]}
    local("run", "--timeout", "0", written(tmp_path))
    shown["one"] = local("runs")[1]
    assert shown["nothing"].startswith("No run is recorded; `training-operator local run FILES`")
    run = find_run("little").id
    assert f"{run}  JAXJob  TimedOut" in shown["one"]
    monkeypatch.setenv("COLUMNS", "20")
    assert without_seconds(local("runs")[1]) == without_seconds(shown["one"])
    assert f"\n{run}: JAXJob default/little did not end within 0 s: it is " in shown["one"]
