"""`migrate code` and its rules: v1's SDK is found by syntax, rewritten where that is certain, else marked."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner, Result
from e2e.support.paths import ROOT

from training_migration.cli import migrate
from training_migration.code.equivalents import EQUIVALENTS, method_of
from training_migration.code.find import Use, uses
from training_migration.lint import lint_file, lint_script

if TYPE_CHECKING:
    from training_migration.code.rewrite import Rewritten

IMPORT = "from kubeflow.training import TrainingClient, constants\n"
CLIENT = f"{IMPORT}\nclient = TrainingClient()\n"
BEGINNING = "from kubeflow.trainer import TrainerClient\n\nclient = TrainerClient()\n"


MARK = "# migrate: "


def rewrite(code: str) -> Rewritten:
    from training_migration.code import rewrite as rewriting  # loads libcst, which takes half a second

    return rewriting.rewrite(code)


def after(line: str) -> str:
    """What a line becomes behind the making of a client."""
    done = rewrite(CLIENT + line + "\n").code
    assert done.startswith(BEGINNING)
    return done.removeprefix(BEGINNING).rstrip("\n")


def invoked(*arguments: str) -> Result:
    return CliRunner().invoke(migrate, ["code", *arguments])


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        ('client.get_job("a")', 'client.get_job(name="a")'),
        ("client.get_job(name, timeout=5)", "client.get_job(name=name)"),
        ('client.list_jobs(job_kind="TFJob")', "client.list_jobs()"),
        ("client.delete_job(name=name)  # gone", "client.delete_job(name=name)  # gone"),
        ('client.delete_pytorchjob("a")', 'client.delete_job(name="a")'),
        ("client.wait_for_job_conditions(name)", "client.wait_for_job_status(name=name)"),
        (
            "client.wait_for_job_conditions(n, expected_conditions=set([constants.JOB_CONDITION_RUNNING, 'Failed']))",
            'client.wait_for_job_status(name=n, status={"Running", "Failed"})',
        ),
        (
            "client.wait_for_job_conditions(n, wait_timeout=9, polling_interval=1, timeout=3)",
            "client.wait_for_job_status(name=n, timeout=9, polling_interval=1)",
        ),
        ("ok = client.is_job_succeeded(name)", 'ok = (client.get_job(name=name).status == "Complete")'),
        ("while client.is_job_running(n):\n    pass", 'while (client.get_job(name=n).status == "Running"):\n    pass'),
        ("TrainingClient().delete_job(n)", "TrainerClient().delete_job(name=n)"),
    ],
)  # fmt: skip
def test_what_is_certain_is_rewritten(before: str, expected: str) -> None:
    assert after(before) == expected


def test_a_client_keeps_its_settings() -> None:
    code = f'{IMPORT}\nclient = TrainingClient(namespace="a", job_kind=constants.PYTORCHJOB_KIND)\n'
    assert rewrite(code).code == (
        "from kubeflow.trainer import KubernetesBackendConfig, TrainerClient\n\n"
        'client = TrainerClient(backend_config=KubernetesBackendConfig(namespace="a"))\n'
    )


def test_a_function_becomes_a_custom_trainer_on_as_many_lines() -> None:
    code = f"""{CLIENT}client.create_job(
    name="a",
    job_kind="PyTorchJob",
    train_func=train,
    parameters=settings,
    num_workers=3,
    packages_to_install=["x"],
)
"""
    done = rewrite(code)
    assert done.left == ()
    assert done.code == (
        "from kubeflow.trainer import CustomTrainer, TrainerClient\nfrom kubeflow.trainer.options import Name\n\n"
        "client = TrainerClient()\nclient.train(\n"
        '    trainer=CustomTrainer(func=train, func_args=settings, packages_to_install=["x"], num_nodes=3),\n'
        '    options=[Name(name="a")],\n)\n'
    )


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("client.create_job(job)", "let `migrate convert` make the TrainJob"),
        ("client.create_pytorchjob(job)", "let `migrate convert` make the TrainJob"),
        ("client.create_job(train_func=f, num_procs_per_worker=2)", "num_procs_per_worker has no parameter"),
        ("client.create_job(train_func=f, env_vars=[V1EnvVar()])", "env_vars has no parameter"),
        ('client.create_job(train_func=f, job_kind="TFJob")', "job_kind has no parameter"),
        ("client.train(name='a', num_workers=2)", "BuiltinTrainer"),
        ("for line in client.get_job_logs('a'):\n    print(line)", "which gives the lines of one node"),
        ("client.update_job(job, 'a')", "a TrainJob is deleted and created again"),
        ("client.wait_for_job_conditions(n, expected_conditions=wanted)", "wait_for_job_status"),
        ("client.wait_for_job_conditions(n, expected_conditions={'Restarting'})", "wait_for_job_status"),
        ("client.get_job(**given)", "client.get_job: "[7:]),
    ],
)
def test_what_is_not_certain_stays_and_is_marked_once(line: str, said: str) -> None:
    done = rewrite(CLIENT + line + "\n")
    statement = line.split("\n", maxsplit=1)[0]
    lines = done.code.split("\n")
    mark = lines[lines.index(statement) - 1]
    assert mark.startswith(MARK)
    assert said in mark
    assert rewrite(done.code).code == done.code, "a second time nothing is added"


def test_what_changes_its_meaning_is_rewritten_and_marked() -> None:
    done = rewrite(CLIENT + "if client.is_job_failed(n, namespace='b'):\n    stop()\n")
    assert done.code == BEGINNING + (
        f"{MARK}TrainerClient has one namespace: KubernetesBackendConfig(namespace=...)\n"
        'if (client.get_job(name=n).status == "Failed"):\n    stop()\n'
    )
    done = rewrite(CLIENT + "client.wait_for_job_conditions(n, callback=show)\n")
    assert "client.wait_for_job_status(name=n, callbacks=[show])\n" in done.code
    assert "the callback gets a TrainJob" in done.code


@pytest.mark.parametrize(
    "code",
    [
        "import torch\nclient.train()\nother.get_job('a')\n",
        "from other import TrainingJob\nclient = make()\nclient.create_job(x)\n",
        "x = 'kubeflow.org/v1'\n",
        "x = {'apiVersion': 'kubeflow.org/v1', 'kind': 'Notebook'}\n",
        "x = 'apiVersion: kubeflow.org/v1beta1\\nkind: Experiment'\n",
    ],
)
def test_code_of_others_stays_as_it_is(code: str) -> None:
    done = rewrite(code)
    assert (done.code, done.certain, done.left) == (code, 0, ())
    assert not [each for each in lint_script("a.py", code) if each.rule.id in ("MIG407", "MIG408", "MIG409")]


COMPONENT = '''from kfp import dsl

@dsl.component(base_image="x")
def launch(workers: int, kind: str):
    manifest = f"""
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {{name: a}}
spec: {workers}
"""
    other = {"apiVersion": "kubeflow.org/v1", "kind": kind}
    api.create_namespaced_custom_object("kubeflow.org", "v1", "team", "tfjobs", other)
'''


def test_manifests_in_components_of_pipelines_are_found() -> None:
    found = uses(ast.parse(COMPONENT), COMPONENT)
    assert [(each.use, each.name, each.line, each.component) for each in found] == [
        (Use.MANIFEST, "PyTorchJob", 5, True),
        (Use.MANIFEST, "{}", 11, True),
        (Use.MANIFEST, "TFJob", 12, True),
    ]
    linted = [each for each in lint_script("a.py", COMPONENT) if each.rule.id == "MIG409"]
    assert [(each.line, each.message) for each in linted] == [
        (5, "a component of a pipeline makes a PyTorchJob of v1."),
        (11, "a component of a pipeline makes a job of v1."),
        (12, "a component of a pipeline makes a TFJob of v1."),
    ]
    assert rewrite(COMPONENT).code.count(MARK) == 3


def test_programs_around_the_jobs_are_looked_through_as_well() -> None:
    found = [each.rule.id for each in lint_file("pipelines/launch.py", COMPONENT)]
    assert found.count("MIG409") == 3
    assert "MIG407" in [each.rule.id for each in lint_file("ci/run.py", CLIENT + "client.get_job('a')\n")]
    assert not any(each.rule.id == "MIG102" for each in lint_file("a.py", "import os\nos.environ.get('RANK', 0)\n"))


def test_lint_names_the_equivalent_of_each_call() -> None:
    code = f"{IMPORT}from kubeflow.training import KubeflowOrgV1PyTorchJob as Job\n" + (
        "class A:\n    def __init__(self):\n        self.api = TrainingClient()\n"
        "    def go(self):\n        self.api.create_job(Job(spec=1))\n        self.api.is_job_created('é')\n"
    )
    found = [each for each in lint_script("a.py", code) if each.rule.id in ("MIG407", "MIG408")]
    assert [(each.rule.id, each.line) for each in found] == [
        ("MIG407", 5), ("MIG407", 7), ("MIG407", 8), ("MIG408", 7),
    ]  # fmt: skip
    assert "`TrainerClient().train(trainer=CustomTrainer" in found[1].message


@pytest.mark.parametrize(
    ("name", "method"),
    [("create_pytorchjob", "create_job"), ("list_tfjobs", "list_jobs"), ("patch_mpijob", "update_job"),
     ("get_job", "get_job"), ("create_deployment", "")],
)  # fmt: skip
def test_older_methods_are_those_of_today(name: str, method: str) -> None:
    assert method_of(name) == method
    assert not method or method in EQUIVALENTS


def test_the_command_shows_a_patch_and_writes_only_with_a_flag(tmp_path: Path) -> None:
    file, other = tmp_path / "a.py", tmp_path / "venv" / "b.py"
    other.parent.mkdir()
    for each in (file, other):
        each.write_text(CLIENT + "client.get_job('a')\n")
    shown = invoked(str(tmp_path))
    assert shown.exit_code == 0
    assert shown.stdout.startswith(f"--- a{file}\n+++ b{file}\n")
    assert "-client.get_job('a')\n" in shown.stdout and "+client.get_job(name='a')\n" in shown.stdout
    assert shown.stderr == f"{file}: 2 rewritten, 0 left to you\n"
    assert file.read_text().startswith(IMPORT)
    written = invoked(str(tmp_path), "--write")
    assert (written.exit_code, written.stdout) == (0, "")
    assert file.read_text() == BEGINNING + "client.get_job(name='a')\n"
    assert other.read_text().startswith(IMPORT), "folders of other people's code are left out"
    assert invoked(str(tmp_path), "--write").stderr == ""


def test_the_page_shows_what_comes_of_its_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (ROOT / "docs" / "migration" / "code.md").read_text()
    before, expected = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    [result] = re.findall(r"code launch.py --write .*?\n(.*?)```", page, re.DOTALL)
    monkeypatch.chdir(tmp_path)
    Path("launch.py").write_text(before)
    done = invoked("launch.py", "--write")
    assert (done.exit_code, done.stderr) == (1, result)
    assert Path("launch.py").read_text() == expected


def test_the_command_says_what_is_left_and_what_is_no_python(tmp_path: Path) -> None:
    file, broken = tmp_path / "a.py", tmp_path / "b.py"
    file.write_text(CLIENT + "client.update_job(x, 'a')\n")
    done = invoked(str(file))
    assert done.exit_code == 1
    assert done.stderr.splitlines()[0].startswith(f"{file}:4: update_job: nothing: a TrainJob")
    broken.write_text("def:\n")
    done = invoked(str(tmp_path))
    assert done.exit_code == 2
    assert f"Error: {broken}: It is not Python: " in done.stderr
    assert "1 rewritten, 1 left to you" in done.stderr
    assert invoked(str(tmp_path / "absent.py")).exit_code == 2


def test_a_notebook_is_looked_through_by_cell_and_left_as_it_is(tmp_path: Path) -> None:
    manifest = ["name = 'x'\n", 'text = f"""apiVersion: kubeflow.org/v1\nkind: PyTorchJob\n', '# {name}"""\n']
    cells = [{"cell_type": "markdown", "source": ["# kind: PyTorchJob"]},
             {"cell_type": "code", "source": ["!pip install kubeflow-training\n", *manifest]},
             {"cell_type": "code", "source": "def broken(:"}]  # fmt: skip
    file = tmp_path / "train.ipynb"
    file.write_text(before := json.dumps({"cells": cells, "nbformat": 4}))
    done = CliRunner().invoke(migrate, ["code", "--write", str(file)])
    assert "cell 2, line 3: this makes a PyTorchJob of v1" in done.stderr
    assert "cell 3: It is not Python" in done.stderr
    assert done.exit_code == 1
    assert file.read_text() == before
