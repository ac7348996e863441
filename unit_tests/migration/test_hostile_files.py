"""Files that were made to hang a program, or to take its memory: each verb says what it is, at once."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from e2e.support.at_most import at_most
from e2e.support.bombs import BOMBS, JOB

from training_migration.cli import migrate

OTHERS = ["convert", "lint", "render", "diff", "run", "probe", "verify"]
SOME = ["merges", "self-reference", "flow"]
DEEP = ['{"a":' * 100_000, "[" * 100_000, '{"a":' * 400 + "1" + "}" * 400]


def call(verb: str, *arguments: str, stdin: str | None = None) -> Result:
    namespace = ["-n", "a"] if verb == "verify" else []
    with at_most(3.0):
        return CliRunner().invoke(migrate, [verb, *arguments, "--target", "2.3", *namespace], input=stdin)


@pytest.mark.parametrize(
    ("verb", "bomb"), [("survey", each) for each in BOMBS] + [(verb, bomb) for verb in OTHERS for bomb in SOME]
)
def test_bombs_of_yaml_and_json_are_said_in_one_sentence(verb: str, bomb: str, tmp_path: Path) -> None:
    file = tmp_path / "bomb.yaml"
    file.write_text(BOMBS[bomb][0])
    result = call(verb, str(file))
    assert result.exit_code == 2, result.output
    assert BOMBS[bomb][1] in result.output
    assert "Traceback" not in result.output


@pytest.mark.parametrize("verb", ["lint", "survey", "convert", "render"])
def test_folders_are_read_without_devices_pipes_and_loops(verb: str, tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text(JOB)
    (tmp_path / "zero.yaml").symlink_to("/dev/zero")
    os.mkfifo(tmp_path / "pipe.json")
    os.mkfifo(tmp_path / "pipe.py")
    (tmp_path / "around").symlink_to(tmp_path)
    result = call(verb, str(tmp_path))
    assert result.exit_code in (0, 1), result.output
    if verb == "lint":
        result = call(verb, str(tmp_path / "job.yaml"), "--context", str(tmp_path), "--scan", str(tmp_path))
        assert result.exit_code in (0, 1), result.output


def test_a_file_without_end_is_read_up_to_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("training_api.documents.LARGEST", 1000)
    result = call("survey", "/dev/zero")
    assert result.exit_code == 2
    assert "more than 1000 characters" in result.output


@pytest.mark.parametrize("text", DEEP, ids=["open mappings", "open lists", "400 levels"])
def test_deep_json_is_said_where_results_scripts_and_settings_are_read(text: str, tmp_path: Path) -> None:
    job, deep, notebook = tmp_path / "job.yaml", tmp_path / "deep.json", tmp_path / "deep.ipynb"
    job.write_text(JOB)
    deep.write_text(text)
    notebook.write_text(f'{{"cells": {text}')
    (tmp_path / "Dockerfile").write_text(f"FROM a\nENTRYPOINT {text}\n")
    for arguments in (
        ["report", str(deep)],
        ["compare", str(deep), str(deep)],
        ["lint", "--target", "2.3", str(job), "--baseline", str(deep)],
        ["lint", "--target", "2.3", str(job), "--image-config", str(deep)],
    ):
        result = CliRunner().invoke(migrate, arguments)
        assert (result.exit_code, type(result.exception)) == (2, SystemExit), result.output
        assert "deep.json" in result.stderr
    result = call("lint", str(job), "--script", str(notebook), "--context", str(tmp_path))
    assert result.exit_code in (0, 1), result.output


def test_a_deep_value_inside_a_job_is_no_more_than_text(tmp_path: Path) -> None:
    job = json.loads(JOB)
    container = job["spec"]["tfReplicaSpecs"]["Worker"]["template"]["spec"]["containers"][0]
    container["env"] = [{"name": "TF_CONFIG", "value": "[" * 100_000}]
    container["command"] = ["sh", "-c", "(" * 5000 + "python train.py"]
    container["args"] = ["python", "-c", "(" * 5000 + "\0"]
    (tmp_path / "job.yaml").write_text(json.dumps(job))
    for verb in ("lint", "survey", "diff", "render"):
        result = call(verb, str(tmp_path / "job.yaml"))
        assert isinstance(result.exception, SystemExit | None), (verb, result.exception)


@pytest.mark.parametrize(
    "text", ["(" * 50_000, "[" * 50_000 + "\n", "a=" * 50_000, "\0", "-" * 50_000 + "1", "x" + ".a" * 50_000]
)
def test_scripts_that_no_parser_can_read_are_no_reason_to_stop(text: str, tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text(JOB)
    for name in ("train.py", "train.sh"):
        (tmp_path / name).write_text(text)
        result = call("lint", str(tmp_path / "job.yaml"), str(tmp_path / name))
        assert isinstance(result.exception, SystemExit | None), result.exception


def test_a_patch_whose_manager_is_no_text_is_said_with_its_place(tmp_path: Path) -> None:
    patch = {"manager": [[]], "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": [{"name": "node"}]}}}}
    spec = {"runtimeRef": {"name": "torch-distributed"}, "runtimePatches": [patch]}
    job = {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "metadata": {"name": "a"}, "spec": spec}
    (tmp_path / "job.yaml").write_text(json.dumps(job))
    result = call("render", str(tmp_path / "job.yaml"))
    assert result.exit_code == 2, result.output
    assert "spec.runtimePatches[0].manager" in result.output
