"""A script becomes a job, of every framework; what cannot be run is one sentence."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest

from training_api.registry import KINDS
from training_api.validation import problems
from training_local.errors import BadInput
from training_local.run.apply import job_of, load_objects
from training_local.run.examples import DEMOS
from training_local.run.script import Script, objects_of, save_job


@pytest.fixture
def script(tmp_path: Path) -> Path:
    file = tmp_path / "My Train_1.py"
    file.write_text("import jax\nimport shards, os\n")
    (tmp_path / "shards.py").write_text("import deeper\n")
    (tmp_path / "deeper.py").write_text("import shards\n")
    (tmp_path / "unused.py").write_text("")
    return file


def replicas(job: dict[str, Any]) -> dict[str, Any]:
    [found] = [value for field, value in job["spec"].items() if field.endswith("ReplicaSpecs")]
    return {name: each["replicas"] for name, each in found.items()}


@pytest.mark.parametrize("framework", DEMOS)
@pytest.mark.parametrize("workers", [1, 4])
def test_every_framework(framework: str, workers: int, script: Path) -> None:
    config, job = objects_of(Script(script, framework, workers, ["--epochs", "3"]))
    assert set(config["data"]) == {script.name, "shards.py", "deeper.py"}
    assert config["metadata"]["name"] == job["metadata"]["name"] == "my-train-1"
    job["metadata"]["namespace"] = "default"
    assert not problems(KINDS[job["kind"]], job)
    counts = replicas(job)
    assert sum(count for name, count in counts.items() if name != "Launcher") == workers
    text = str(job)
    in_shell = f"$SCRIPTS/{shlex.quote(script.name)} --epochs 3"
    assert (in_shell if framework == "mpi" else f"/etc/train/{script.name}") in text
    assert "/train.py" not in text


def test_arguments_follow_the_script(script: Path) -> None:
    _, job = objects_of(Script(script, None, 2, ["--epochs", "3"]))
    [container] = job["spec"]["jaxReplicaSpecs"]["Worker"]["template"]["spec"]["containers"]
    assert container["command"] == ["python", f"/etc/train/{script.name}", "--epochs", "3"]
    assert "env" not in container, "an example trains on the processor, a script on what there is"


def test_ranks_of_mpirun(script: Path) -> None:
    _, job = objects_of(Script(script, "mpi", 5))
    [launcher] = job["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]["containers"]
    assert launcher["command"][:3] == ["mpirun", "-np", "5"]


def test_what_is_saved_can_be_run(script: Path, tmp_path: Path) -> None:
    asked = Script(script, None, 2)
    save_job(objects_of(asked), tmp_path / "job.yaml", asked)
    text = (tmp_path / "job.yaml").read_text()
    assert "put in an image" in text
    assert "    import jax\n" in text, "a script is readable"
    assert job_of(load_objects([tmp_path / "job.yaml"]))["kind"] == "JAXJob"
    save_job(objects_of(asked), tmp_path / "job.yaml", asked)
    with pytest.raises(BadInput, match="was not written by --save"):
        save_job(objects_of(asked), script, asked)
    assert script.read_text().startswith("import jax")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("import os", "imports none of the supported frameworks: name the framework with --framework"),
        ("import jax, torch", "imports jax and pytorch: name the framework"),
        ("import (", "invalid syntax"),
        (f"import jax\nx = '{'y' * (1 << 20)}'", "larger than 1 MiB"),
    ],
)
def test_what_cannot_be_run(text: str, sentence: str, tmp_path: Path) -> None:
    file = tmp_path / "train.py"
    file.write_text(text)
    with pytest.raises(BadInput, match=sentence):
        objects_of(Script(file, None, 1))


def test_a_script_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="No such file"):
        objects_of(Script(tmp_path / "train.py", "jax", 1))
