"""What is kept of runs: which go for room, which is meant by a name, what is left of one that was killed."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from training_controllers.frameworks.plugins import kinds
from training_local.errors import BadInput
from training_local.run import archive
from training_local.run.archive import ArchivedLog, RunRecord, archived_runs, find_run, merged_lines
from training_local.run.progress import JobRef, Replica
from training_local.run.recorder import Recorder, prune, recording

JOB = {"apiVersion": "kubeflow.org/v1", "kind": "JAXJob", "metadata": {"name": "little", "namespace": "n"}, "spec": {}}
STAMP = "2026-01-01T00:00:00.00000000{}Z"


@pytest.fixture(autouse=True)
def runs(state: Path) -> Path:
    return state / "runs"


REF = JobRef(kinds()["JAXJob"], "n", "little")


def record(number: int = 0, **changes: Any) -> RunRecord:
    known = {"version": 1, "command": [], "kind": "JAXJob", "namespace": "n", "name": "little"}
    return RunRecord(**{**known, "started_at": datetime(2026, 1, 1, number, tzinfo=UTC), **changes})


def kept(runs: Path, name: str, number: int, size: int = 0) -> Path:
    """A run that ended at hour `number`."""
    (runs / name).mkdir(parents=True)
    runs.chmod(0o700)
    Recorder(runs / name, record(number))
    (runs / name / "filler").write_bytes(b"x" * size)
    os.utime(runs / name, (number, number))
    return runs / name


def names(runs: Path) -> list[str]:
    return sorted(each.name for each in runs.iterdir() if each.is_dir())


def test_the_oldest_go_and_never_what_runs_or_has_just_ended(runs: Path) -> None:
    size = 1 << 20
    folders = [kept(runs, name, number, size) for number, name in enumerate(("running", "old", "new", "newest"))]
    lock = os.open(folders[0] / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    prune(runs, 10 * size)
    assert names(runs) == ["new", "newest", "old", "running"]
    prune(runs, 3 * size + size // 2)
    assert names(runs) == ["new", "newest", "running"]
    prune(runs, 0, keep=folders[3])
    assert names(runs) == ["newest", "running"]
    os.close(lock)
    prune(runs, 0)
    assert names(runs) == []


def test_two_runs_at_once_have_folders_of_their_own(runs: Path) -> None:
    with recording(JOB, ["a"], 0) as first, recording(JOB, ["b"], 0) as second:
        assert first.folder and second.folder and first.folder != second.folder
        assert [run.outcome for run in archived_runs()] == ["Running", "Running"]
        for each in (first, second):
            each.begun(REF, "host", "Pods run python.")
        for folder in (runs, first.folder, first.folder / "lock", first.folder / "run.json"):
            assert folder.stat().st_mode & 0o077 == 0
    assert [run.outcome for run in archived_runs()] == ["Killed"]  # no room; the one that ended last stays


def test_a_run_whose_job_was_rejected_is_not_kept(runs: Path) -> None:
    with pytest.raises(BadInput), recording(JOB, [], 1 << 30) as recorder:
        recorder.applied([JOB])
        raise BadInput("rejected")
    assert names(runs) == []


def test_values_of_secrets_are_taken_out() -> None:
    annotations = {"kubectl.kubernetes.io/last-applied-configuration": "c2VjcmV0", "own": "stays"}
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "s", "annotations": annotations},
        "data": {"a": "c2VjcmV0"},
        "stringData": {"b": "secret"},
    }
    with recording(JOB, [], 1 << 30) as recorder:
        recorder.applied([secret, JOB])
        recorder.begun(REF, "host", "")
    assert recorder.folder
    text = (recorder.folder / "job.yaml").read_text()
    assert "secret" not in text.replace("taken out", "") and "c2VjcmV0" not in text
    emptied, job = yaml.safe_load_all(text)
    assert (emptied["data"], emptied["metadata"]["annotations"]) == ({"a": "taken out"}, {"own": "stays"})
    assert job == JOB == find_run("little").job


def pod(phase: str, **fields: Any) -> dict[str, Any]:
    labels = {"training.kubeflow.org/replica-type": "worker", "training.kubeflow.org/replica-index": "1"}
    metadata = {"name": "little-worker-1", "uid": "u", "labels": labels, "managedFields": [{}]}
    env = [{"name": "PROCESS_ID", "value": "1"}]
    spec = {"containers": [{"name": "jax", "env": env}]}
    return {"kind": "Pod", "metadata": metadata, "spec": spec, "status": {"phase": phase, **fields}}


def test_statuses_are_written_when_they_change_and_read_back_without_a_torn_line() -> None:
    with recording(JOB, [], 1 << 30) as recorder:
        recorder.begun(REF, "netns", "Pods run python.")
        for change, phase in (("ADDED", "Pending"), ("MODIFIED", "Pending"), ("MODIFIED", "Running")):
            recorder.changed(change, pod(phase))
    assert recorder.folder
    with (recorder.folder / "statuses.jsonl").open("ab") as file:
        file.write(b'{"time":"2026-01-01T00:00:00Z","change":"MODI')
    run = find_run("little")
    seen = [(each.change, each.object["status"]["phase"], "spec" in each.object) for each in run.statuses()]
    assert seen == [("ADDED", "Pending", True), ("MODIFIED", "Running", False)]
    assert not any("managedFields" in each.object["metadata"] for each in run.statuses())
    (replica,) = run.replicas()
    assert (replica.short_name, replica.phase, replica.rank) == ("worker-1", "Running", "1")
    assert (run.outcome, run.summary, run.record.sandbox, list(run.events())) == ("Killed", None, "netns", [])


def test_a_name_means_the_newest_run_of_a_job_and_a_beginning_the_only_one(runs: Path) -> None:
    for number, name in enumerate(("little-1", "little-2", "other-3")):
        Recorder(kept(runs, name, number), record(number, name=name.split("-", maxsplit=1)[0]))
    assert [find_run(text).id for text in ("little", "little-1", "oth")] == ["little-2", "little-1", "other-3"]
    with pytest.raises(BadInput, match="--run litt: several runs begin with this: little-2, little-1"):
        find_run("litt")
    with pytest.raises(BadInput, match="--run x: no such run is recorded; the newest is other-3; `training-operator"):
        find_run("x")


def test_what_is_of_a_later_format_or_no_run_is_left_out(runs: Path) -> None:
    Recorder(kept(runs, "later", 1), record(version=archive.VERSION + 1))
    (kept(runs, "torn", 2) / "run.json").write_text("{")
    (runs / "foreign").mkdir()
    further = msgspec.to_builtins(record()) | {"invented": "by a release of after"}
    (kept(runs, "further", 3) / "run.json").write_bytes(msgspec.json.encode(further))
    assert [run.id for run in archived_runs()] == ["further"]
    assert archived_runs(runs / "absent") == []


def log(folder: Path, *segments: str, attempt: int = 0, replica: str = "worker") -> ArchivedLog:
    folder.mkdir(parents=True, exist_ok=True)
    for number, text in enumerate(segments):
        name = f"{attempt}.{number}.log" if number else f"{attempt}.log"
        (folder / name).write_text(text)
    return ArchivedLog(Replica(replica, replica, 0, "Running"), "jax", attempt, folder)


def line(number: int, text: str, tag: str = "F") -> str:
    return f"{STAMP.format(number)} stdout {tag} {text}\n"


def test_lines_are_put_together_across_parts_and_files_and_merged_by_time(tmp_path: Path) -> None:
    long = log(tmp_path / "a", line(1, "be", "P"), line(2, "gun ", "P") + line(3, "there") + line(7, "cut", "P"))
    other = log(tmp_path / "b", line(2, "between") + line(5, "") + line(6, "last"), replica="master")
    assert [(each.stamp[-2], each.replica.pod, each.text) for each in merged_lines([long, other])] == [
        ("1", "worker", "begun there"),
        ("2", "master", "between"),
        ("5", "master", ""),
        ("6", "master", "last"),
        ("7", "worker", "cut"),
    ]
    assert [each.text for each in merged_lines([long, other], tail=1)] == ["last", "cut"]


def test_logs_are_chosen_by_replica_container_and_attempt() -> None:
    with recording(JOB, [], 1 << 30) as recorder:
        recorder.begun(REF, "host", "")
        recorder.changed("ADDED", pod("Running"))
    assert recorder.logs
    known, unknown = recorder.logs / "n_little-worker-1_u", recorder.logs / "n_little-worker-0_v"
    for folder, container in ((known, "jax"), (known, "sidecar"), (unknown, "jax")):
        log(folder / container, line(1, "x"))
    log(known / "jax", line(2, "y"), attempt=1)
    run = find_run("little")

    def chosen(*target: str, **more: Any) -> list[tuple[str, str, int]]:
        return [(each.replica.short_name, each.container, each.attempt) for each in run.chosen_logs(*target, **more)]

    # The status of one pod was never written: its log is there all the same, under the pod's name.
    assert chosen() == [("little-worker-0", "jax", 0), ("worker-1", "jax", 0), ("worker-1", "jax", 1)]
    assert chosen("worker-1", "sidecar") == [("worker-1", "sidecar", 0)]
    assert chosen(previous=True) == [("worker-1", "jax", 0)]
    rejections: list[tuple[Callable[[], object], str]] = [
        (lambda: chosen("worker-7"), "worker-7: run .* has no logs of it, but of little-worker-0, worker-1"),
        (lambda: chosen("worker-1", "no"), "--container no: run .* has no logs of it, but of jax, sidecar"),
    ]
    for asked, message in rejections:
        with pytest.raises(BadInput, match=message):
            asked()
