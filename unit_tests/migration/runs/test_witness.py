"""The witness of ranks: how it comes into pods, what it says, and that it stays out of the way."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from training_migration.runs import inside
from training_migration.runs.witness import FOLDER, marks, with_witness

Json = dict[str, Any]
PROGRAM = Path(str(inside.__file__)).parent / "sitecustomize.py"
# A framework as small as can be, under the name of one that is watched.
FRAMEWORK = "state = []\ndef init(**given):\n    state.append(1)\n    return given\ndef get_rank():\n    return 2\n"
FRAMEWORK += "def get_world_size():\n    return {size}\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The witness as a kubelet mounts a config map, by links to another folder, and a framework beside it."""
    (tmp_path / "witness" / "..data").mkdir(parents=True)
    (tmp_path / "witness" / "..data" / "sitecustomize.py").write_text(PROGRAM.read_text())
    (tmp_path / "witness" / "sitecustomize.py").symlink_to("..data/sitecustomize.py")
    (tmp_path / "site" / "xgboost").mkdir(parents=True)
    (tmp_path / "site" / "xgboost" / "__init__.py").touch()
    (tmp_path / "site" / "xgboost" / "collective.py").write_text(FRAMEWORK.format(size=3))
    return tmp_path


def play(folder: Path, program: str, **variables: str) -> subprocess.CompletedProcess[str]:
    path = f"{folder / 'witness'}{os.pathsep}{folder / 'site'}"
    env = {"PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1", "TRAINING_WITNESS": "1", **variables}
    return subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True, check=False)


def test_it_reports_the_rank_and_leaves_the_result_alone(folder: Path) -> None:
    ran = play(folder, "from xgboost.collective import init; print(init(a=1))", RANK="2", TOKEN="secret")
    assert ran.stdout == "{'a': 1}\n"
    [mark] = marks(ran.stderr.splitlines())
    assert (mark.met, mark.rank, mark.world_size, mark.backend) == (True, 2, 3, "xgboost")
    assert mark.variables == (("RANK", "2"),)
    assert "secret" not in ran.stderr


def test_a_program_that_never_meets_others_says_so_at_its_end(folder: Path) -> None:
    [mark] = marks(play(folder, "pass").stderr.splitlines())
    assert (mark.met, mark.rank) == (False, None)


def test_it_is_silent_unless_it_is_asked(folder: Path) -> None:
    ran = play(folder, "from xgboost.collective import init; init()", TRAINING_WITNESS="")
    assert ran.stderr == ""


def test_a_framework_that_it_does_not_understand_runs_as_if_it_were_not_there(folder: Path) -> None:
    (folder / "site" / "xgboost" / "collective.py").write_text("def init():\n    return 5\n")
    ran = play(folder, "import xgboost.collective as c; print(c.init(), c.__file__)")
    assert ran.stdout.startswith("5 "), ran.stderr
    assert not any(mark.met for mark in marks(ran.stderr.splitlines()))


def test_the_error_of_an_initialization_reaches_the_program(folder: Path) -> None:
    (folder / "site" / "xgboost" / "collective.py").write_text("def init():\n    raise OSError('nobody')\n")
    ran = play(folder, "import xgboost.collective as c\ntry:\n    c.init()\nexcept OSError as e:\n    print(e)")
    assert ran.stdout == "nobody\n"


def test_a_sitecustomize_of_the_image_is_run_as_well(folder: Path) -> None:
    (folder / "site" / "sitecustomize.py").write_text("print('the image own')\n")
    assert play(folder, "pass").stdout == "the image own\n"


@pytest.mark.parametrize("name", ["sitecustomize.py", "probe.py"])
def test_programs_for_inside_of_pods_are_of_old_python_and_its_standard_library(name: str) -> None:
    tree = ast.parse((PROGRAM.parent / name).read_text(), feature_version=(3, 7))
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    names = [alias.name for node in found if isinstance(node, ast.Import) for alias in node.names]
    names += [node.module or "" for node in found if isinstance(node, ast.ImportFrom)]
    assert {each.partition(".")[0] for each in names} <= sys.stdlib_module_names


def v1(**container: Any) -> Json:
    template = {"spec": {"containers": [{"name": "pytorch", "image": "i", **container}]}}
    spec = {"pytorchReplicaSpecs": {"Worker": {"template": template}}}
    return {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": "j"}, "spec": spec}


def only_container(job: Json) -> Json:
    container: Json = job["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]["spec"]["containers"][0]
    return container


def test_it_comes_by_a_config_map_and_the_job_itself_is_not_changed() -> None:
    job = v1()
    config_map, changed = with_witness([job], "team")
    assert (config_map["kind"], config_map["metadata"]["namespace"]) == ("ConfigMap", "team")
    assert config_map["data"]["sitecustomize.py"] == PROGRAM.read_text()
    container = only_container(changed)
    assert {e["name"]: e["value"] for e in container["env"]} == {"PYTHONPATH": FOLDER, "TRAINING_WITNESS": "1"}
    assert container["volumeMounts"] == [
        {"name": config_map["metadata"]["name"], "mountPath": FOLDER, "readOnly": True}
    ]
    assert job == v1()


def test_templates_that_are_one_object_by_an_anchor_of_yaml_are_changed_once_each() -> None:
    job = v1()
    replicas = job["spec"]["pytorchReplicaSpecs"]
    replicas["Master"] = replicas["Worker"]
    _, changed = with_witness([job], "team")
    assert [len(each["template"]["spec"]["volumes"]) for each in changed["spec"]["pytorchReplicaSpecs"].values()] == [
        1,
        1,
    ]


def test_a_path_of_the_container_stays_behind_that_of_the_witness() -> None:
    source = {"configMapKeyRef": {"name": "paths", "key": "python"}}
    _, changed = with_witness([v1(env=[{"name": "PYTHONPATH", "valueFrom": source}])], "team")
    renamed, path, _ = only_container(changed)["env"]
    assert renamed == {"name": "TRAINING_WITNESS_PYTHONPATH", "valueFrom": source}
    assert path == {"name": "PYTHONPATH", "value": f"{FOLDER}:$(TRAINING_WITNESS_PYTHONPATH)"}


@pytest.mark.parametrize("field", ["command", "args"])
def test_mpirun_hands_it_on_to_the_ranks(field: str) -> None:
    _, changed = with_witness([v1(**{field: ["/usr/bin/mpirun", "-np", "2", "python", "t.py"]})], "team")
    handed = ["-x", "PYTHONPATH", "-x", "TRAINING_WITNESS"]
    assert only_container(changed)[field] == ["/usr/bin/mpirun", *handed, "-np", "2", "python", "t.py"]


def test_broken_lines_are_no_marks() -> None:
    assert marks(["training-witness: {", "training-witness: 3", "loss=1"]) == []
