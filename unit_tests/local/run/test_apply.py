"""Reading the files of `local run`: every mistake is one sentence that says where it is."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from e2e.support.bombs import BOMBS
from e2e.support.every_kind import PLUGIN
from unit_tests.conftest import Install

from training_local.cluster.pythons import interpreter
from training_local.errors import BadInput
from training_local.run.apply import job_of, load_objects, warnings_of
from training_local.run.checks import Severity, check_object
from training_local.run.examples import DEMOS, Demo, example, python_for
from training_operator.kube.transport import Response

ODD_RULE = """
from dataclasses import replace
from training_operator_deepspeed import DEEPSPEED
from training_api.kinds import SpecRule
from training_api.problems import ProblemKind
RULE = SpecRule("slotsPerWorker", ProblemKind.FORBIDDEN, "no", cel="self.a(", broken=lambda _: False)
NAMES = dict(kind="OddJob", plural="oddjobs", short_names=(), metrics_label="odd")
ODD = replace(DEEPSPEED, info=replace(DEEPSPEED.info, **NAMES, rules=(RULE,)))
"""
JOB = "apiVersion: kubeflow.org/v1\nkind: JAXJob\nmetadata: {name: a}\n"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("a: [", "job.yaml:2: It is not valid YAML"),
        ("just words", 'job.yaml:1: It is "just words", not an object with apiVersion and kind'),
        ("---\n---\nkind: Pod", "job.yaml:3: apiVersion is missing"),
        ("apiVersion: v1\nkind: Pod", "job.yaml:1: metadata.name is missing"),
        ("apiVersion: v1\nkind: List\nitems: [3]", "job.yaml:3: It is 3, not an object"),
        ("apiVersion: v1\nkind: List", "job.yaml:1: metadata.name is missing"),
        ("apiVersion: v1\nkind: Pod\nmetadata: {name: a, namespace: 3}", "metadata.namespace must be a string"),
        ("--- \n---\n", "no object found"),
        ("!!python/object/apply:os.system ['true']", "It is not valid YAML"),
        *((text, sentence) for text, sentence in BOMBS.values()),
    ],
)
def test_a_bad_file_is_named_with_the_place_of_the_mistake(tmp_path: Path, text: str, sentence: str) -> None:
    file = tmp_path / "job.yaml"
    file.write_text(text)
    with pytest.raises(BadInput) as caught:
        load_objects([file])
    assert str(file) in str(caught.value)
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


def test_standard_input_is_a_file_like_any_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(JOB))
    assert job_of(load_objects([Path("-")]))["metadata"]["name"] == "a"
    monkeypatch.setattr(sys, "stdin", io.StringIO("a: ["))
    with pytest.raises(BadInput, match=r"^standard input:2: It is not valid YAML"):
        load_objects([Path("-")])


def test_where_the_package_of_a_kind_is_missing_the_kind_is_unknown() -> None:
    known = r"expected one training job \(PyTorchJob, TFJob, XGBoostJob, MPIJob, PaddleJob, JAXJob"
    with pytest.raises(BadInput, match=known):
        job_of(load_objects([PLUGIN / "deepspeedjob.yaml"]))


def test_why_the_kind_of_an_installed_package_is_unknown_is_said(install: Install) -> None:
    install(entry="broken_kind:X", module="import nothing_like_that")
    why = r"the framework broken_kind:X of the package training-operator-deepspeed is ignored: ModuleNotFoundError: No"
    with pytest.raises(BadInput, match=rf"known: PyTorchJob, .*JAXJob.* \({why}"):
        job_of(load_objects([PLUGIN / "deepspeedjob.yaml"]))


def test_a_rule_of_a_package_that_cel_does_not_take_is_one_sentence(install: Install) -> None:
    install(entry="odd_rule:ODD", module=ODD_RULE)
    job = load_objects([PLUGIN / "deepspeedjob.yaml"])[0] | {"kind": "OddJob"}
    ((severity, said),) = check_object(job)
    assert (severity, "\n" in said) == (Severity.ERROR, False)
    assert said.startswith("OddJob: its CRD has a rule that API servers reject: ERROR: <input>:1:8: Syntax error")


def test_anchors_and_generated_names_are_understood(tmp_path: Path) -> None:
    file = tmp_path / "job.yaml"
    file.write_text("apiVersion: kubeflow.org/v1\nkind: JAXJob\nmetadata: {generateName: &n a-, labels: {x: *n}}\n")
    assert job_of(load_objects([file]))["metadata"]["labels"] == {"x": "a-"}


def test_a_namespace_is_given_to_what_has_none_and_must_not_differ(tmp_path: Path) -> None:
    file = tmp_path / "job.yaml"
    file.write_text(JOB)
    assert load_objects([file], "team")[0]["metadata"]["namespace"] == "team"
    file.write_text(JOB.replace("name: a", "name: a, namespace: other"))
    with pytest.raises(BadInput, match=r"job.yaml:1: metadata\.namespace is other, but --namespace says team"):
        load_objects([file], "team")


def test_a_python_may_be_a_program_or_a_virtual_environment(tmp_path: Path) -> None:
    program = tmp_path / "bin" / "python"
    program.parent.mkdir()
    program.symlink_to(sys.executable)
    assert interpreter(program) == interpreter(tmp_path) == program  # links stay: their place decides the environment


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda _: None, "there is no such file"),
        (lambda path: path.mkdir(), "the folder is not a virtual environment: it has no bin/python"),
        (lambda path: path.touch(), "is not executable"),
    ],
)
def test_a_python_that_cannot_be_used_is_one_sentence(
    tmp_path: Path, make: Callable[[Path], None], sentence: str
) -> None:
    path = tmp_path / "python"
    make(path)
    with pytest.raises(BadInput, match=f"^--python {path}: {sentence}$"):
        interpreter(path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"absent\.yaml: It cannot be read: No such file or directory"):
        load_objects([tmp_path / "absent.yaml"])


def test_lists_are_unfolded_and_one_job_is_found(tmp_path: Path) -> None:
    file = tmp_path / "all.yaml"
    file.write_text(
        "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: c}}\n---\n" + JOB
    )
    objects = load_objects([file])
    assert [o["kind"] for o in objects] == ["ConfigMap", "JAXJob"]
    assert job_of(objects)["metadata"] == {"name": "a", "namespace": "default"}


@pytest.mark.parametrize(("jobs", "found"), [(0, "found none"), (2, "found JAXJob a, JAXJob a")])
def test_there_must_be_exactly_one_job(tmp_path: Path, jobs: int, found: str) -> None:
    file = tmp_path / "jobs.yaml"
    file.write_text("---\n".join(["{apiVersion: v1, kind: Secret, metadata: {name: s}}\n", *[JOB] * jobs]))
    with pytest.raises(BadInput, match=found):
        job_of(load_objects([file]))


@pytest.mark.parametrize("demo", DEMOS.values(), ids=DEMOS)
def test_every_demo_has_its_example(demo: Demo) -> None:
    assert job_of(load_objects([example(demo)]))["metadata"]["namespace"] == "default"


def test_a_missing_module_is_said_with_the_way_to_get_it() -> None:
    with pytest.raises(BadInput, match=r"no_such_module cannot be imported by .*: install it"):
        python_for(Demo("x", "no_such_module", "install it"), None)
    with pytest.raises(BadInput, match="--python /nonexistent/python: there is no such file"):
        python_for(Demo("x", "sys", "install it"), Path("/nonexistent/python"))


def test_warnings_are_printed_without_their_wrapping() -> None:
    header = r'299 - "unknown field \"spec.a\"", 299 - "too, old"'
    assert warnings_of(Response(201, headers={"warning": header})) == ['unknown field "spec.a"', "too, old"]
    assert warnings_of(Response(201)) == []
