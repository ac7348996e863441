"""Mistakes that people make, and the sentence that each of them gets before anything runs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from training_api.registry import KINDS
from training_local.commands.validate import validate
from training_local.errors import BadInput
from training_local.run import apply
from training_local.run.apply import load_objects

Local = Callable[..., tuple[object, str, str]]

JOB = """\
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: hello}
spec:
  pytorchReplicaSpecs:
    Worker:
      replicas: 2
      restartPolicy: Never
      template:
        spec:
          containers:
          - name: pytorch
            image: python
            command: [python, -c, pass]
"""
WORKER = "spec.pytorchReplicaSpecs.Worker"

REJECTED = {
    "kind in other letters": (("PyTorchJob", "PytorchJob"), "did you mean PyTorchJob?"),
    "kind misspelled": (("PyTorchJob", "PyTorhcJob"), "did you mean PyTorchJob?"),
    "plural as kind": (("PyTorchJob", "pytorchjobs"), "did you mean PyTorchJob?"),
    "short name as kind": (("PyTorchJob", "ptj"), "did you mean PyTorchJob?"),
    "unknown kind": (("PyTorchJob", "Horse"), f"no such kind of kubeflow.org/v1 is known: {', '.join(KINDS)}"),
    "version of tomorrow": (("kubeflow.org/v1", "kubeflow.org/v2"), "did you mean apiVersion: kubeflow.org/v1?"),
    "version of yesterday": (("kubeflow.org/v1", "kubeflow.org/v1beta2"), "did you mean apiVersion: kubeflow.org/v1?"),
    "group misspelled": (("kubeflow.org/v1", "kubflow.org/v1"), "did you mean apiVersion: kubeflow.org/v1?"),
    "no group": (("kubeflow.org/v1", "v1"), "did you mean apiVersion: kubeflow.org/v1?"),
    "kind and version": (
        ("v1\nkind: PyTorchJob", "v2\nkind: pytorchjob"),
        "did you mean PyTorchJob of kubeflow",
    ),
    "Trainer v2": (
        ("kubeflow.org/v1\nkind: PyTorchJob", "trainer.kubeflow.org/v1alpha1\nkind: TrainJob"),
        "it is a kind of Trainer v2; supported here are the kinds of kubeflow.org/v1 run",
    ),
    "no kind": (("kind: PyTorchJob\n", ""), "Required value: every object needs apiVersion and kind"),
    "no version": (("apiVersion: kubeflow.org/v1\n", ""), "Required value: every object needs apiVersion and kind"),
    "a field's name": (
        ("pytorchReplicaSpecs", "pytorchReplicaSpec"),
        'unknown field "spec.pytorchReplicaSpec", did you',
    ),
    "comand": (
        ("command:", "comand:"),
        f'unknown field "{WORKER}.template.spec.containers[0].comand", did you mean command?',
    ),
    "replica": (("replicas:", "replica:"), f'unknown field "{WORKER}.replica", did you mean replicas?'),
    "a field of another place": (
        ("      replicas: 2", "      image: x\n      replicas: 2"),
        f'unknown field "{WORKER}.image", known here: replicas, template, restartPolicy',
    ),
    "labels with one letter less": (
        ("{name: hello}", "{name: hello, label: {a: b}}"),
        'field "metadata.label"',
    ),
    "a text for a number": (
        ("replicas: 2", "replicas: two"),
        f'{WORKER}.replicas: Invalid value: "s',
    ),
    "a policy that there is not": (("Never", "Sometimes"), 'Unsupported value: "Sometimes": supported values: '),
    "a negative number": (("replicas: 2", "replicas: -2"), "replicas: Invalid value: -2: "),
    "too many": (("replicas: 2", "replicas: 10001"), "should be less than or equal to 10000"),
    "two masters": (("Worker:", "Master:"), "replicas: Forbidden: must be 1"),
    "a type of another kind": (("Worker:", "Chief:"), 'unsupported replica type "Chief": supported values: "Master"'),
    "another container": (("- name: pytorch", "- name: main"), "must have at least one container with name pytorch"),
    "no image": (("            image: python\n", ""), "image: Required value"),
    "capitals in the name": (("{name: hello}", "{name: Hello}"), "metadata.name: Invalid value: "),
    "a name that is long with its replicas": (("{name: hello}", f"{{name: {'a' * 56}}}"), "the last Worker replica"),
    "no name": (("{name: hello}", "{}"), "metadata.name: Required value: name or generateName is required"),
    "an elastic job without workers": (
        ("spec:\n  py", "spec:\n  elasticPolicy: {nProcPerNode: 1}\n  nprocPerNode: '2'\n  py"),
        "must not be used with spec.nprocPerNode",
    ),
    "a volume that is not there": (
        ("command:", "volumeMounts: [{name: data, mountPath: /data}]\n            command:"),
        'spec.pytorchReplicaSpecs[Worker].template.spec.containers[0].volumeMounts[0].name: Not found: "data"',
    ),
    "a quantity that is none": (
        ("command:", "resources: {limits: {cpu: many}}\n            command:"),
        "template.spec.containers[0].resources.limits",
    ),
}
"""What to replace in a good job -> what is said."""

UNUSUAL = {
    "another spelling of a type": (("Worker:", "worker:"), "spec.pytorchReplicaSpecs[worker]: it is read as Worker"),
    "no number": (
        ("      replicas: 2\n", ""),
        "[Worker].replicas: not set; the default is 1",
    ),
    "a policy of the pod": (
        ("containers:", "restartPolicy: Always\n          containers:"),
        "template.spec.restartPolicy: it has no effect; spec.pytorchReplicaSpecs[Worker].restartPolicy applies, Never",
    ),
    "an annotation misspelled": (
        ("{name: hello}", "{name: hello, annotations: {extension.training.kubeflow.org/restart-skope: job}}"),
        "has no effect: with this prefix PyTorchJobs support",
    ),
    "a Deployment": (
        ("kubeflow.org/v1\nkind: PyTorchJob", "apps/v1\nkind: Deployment"),
        "nothing runs Deployments here; put its pod template into a job of kubeflow.org/v1: PyTorchJob",
    ),
    "a kind of others": (
        ("kubeflow.org/v1\nkind: PyTorchJob", "example.com/v1\nkind: Thing"),
        "example.com/v1 Thing: this kind is unknown",
    ),
}
"""The same for what is no error."""


def findings(text: str, *arguments: str) -> tuple[Result, list[dict[str, Any]]]:
    result = CliRunner().invoke(validate, ["-", *arguments], input=text)
    return result, json.loads(result.stdout)["findings"]


def changed(change: tuple[str, str]) -> str:
    assert change[0] in JOB
    return JOB.replace(*change, 1)


def test_a_good_job_gives_no_finding() -> None:
    result, found = findings(JOB)
    assert (result.exit_code, found) == (0, [])


@pytest.mark.parametrize(("change", "sentence"), REJECTED.values(), ids=REJECTED)
def test_a_mistake_is_an_error_that_says_what_would_be_right(change: tuple[str, str], sentence: str) -> None:
    result, found = findings(changed(change))
    assert result.exit_code == 1
    assert {each["severity"] for each in found} == {"error"}
    assert sentence in found[0]["message"]
    assert not any("<nil>" in each["message"] for each in found)


@pytest.mark.parametrize(("change", "sentence"), UNUSUAL.values(), ids=UNUSUAL)
def test_what_is_unusual_is_a_warning(change: tuple[str, str], sentence: str) -> None:
    result, [found] = findings(changed(change))
    assert (result.exit_code, found["severity"]) == (0, "warning")
    assert sentence in found["message"]


def rejection(tmp_path: Path, text: str) -> str:
    file = tmp_path / "job.yaml"
    file.write_text(text)
    with pytest.raises(BadInput) as rejected:
        apply.validate(load_objects([file]))
    return str(rejected.value)


def test_local_run_says_what_was_found_in_the_place_of_a_job(tmp_path: Path) -> None:
    said = rejection(tmp_path, changed(("kubeflow.org/v1\nkind: PyTorchJob", "apps/v1\nkind: Deployment")))
    assert "found none, but Deployment hello: nothing runs Deployments here" in said


def test_local_run_ends_with_status_2_and_one_sentence(local: Local, tmp_path: Path) -> None:
    file = tmp_path / "job.yaml"
    file.write_text(changed(("command:", "comand:")))
    status, out, err = local("run", str(file))
    assert (status, out) == (2, "")
    assert err == (
        "training-operator local: PyTorchJob hello is invalid: unknown field "
        f'"{WORKER}.template.spec.containers[0].comand", did you mean command?\n'
    )


def test_several_files_folders_and_lists_are_one_set(tmp_path: Path) -> None:
    (tmp_path / "jobs").mkdir()
    first, second, alone = tmp_path / "jobs" / "a.yaml", tmp_path / "jobs" / "b.json", tmp_path / "c.yaml"
    first.write_text(f"{JOB}---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c}}\ndate: {{}}\n")
    second.write_text('{"kind": "List", "apiVersion": "v1", "items": [3]}')
    alone.write_text(JOB)
    result = CliRunner().invoke(validate, [str(tmp_path / "jobs"), str(alone), "--output", "text"])
    assert result.exit_code == 1
    assert result.stdout.splitlines() == [
        f'{first}:16: error: ConfigMap c: unknown field "date"',
        f"{second}:1: error: It is 3, not an object with apiVersion and kind.",
        f"{alone}:1: error: PyTorchJob hello: it already exists: {first}:1; the later one would overwrite it",
    ]
    assert result.stderr == "3 objects, 3 errors, 0 warnings.\n"


def test_a_file_that_cannot_be_read_is_another_status(tmp_path: Path) -> None:
    result = CliRunner().invoke(validate, [str(tmp_path / "absent.yaml")])
    assert result.exit_code == 2
    assert "No such file" in json.loads(result.stdout)["findings"][0]["message"]


def test_the_maximum_is_the_operator_s() -> None:
    many = changed(("replicas: 2", "replicas: 10001"))
    assert findings(many, "--max-replicas", "20000")[1] == []
    assert findings(JOB, "--max-replicas", "1")[1][0]["message"].startswith(f"{WORKER}.replicas: Invalid value")


def test_every_object_that_local_run_would_create_is_checked_before(tmp_path: Path) -> None:
    said = rejection(tmp_path, f"{JOB}---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c}}\nDATA: {{}}\n")
    assert said == 'ConfigMap c is invalid: unknown field "DATA"'
