"""Reading the files of `local run`: every mistake is one sentence that says where it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from training_local.apply import BadInput, load_objects, only_job
from training_local.demo import DEMOS, Demo, example, python_for

JOB = "apiVersion: kubeflow.org/v1\nkind: JAXJob\nmetadata: {name: a}\n"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("a: [", "is not YAML"),
        ("just words", "document 1 is not an object with apiVersion and kind"),
        ("---\n---\nkind: Pod", "document 2: apiVersion is missing"),
        ("apiVersion: v1\nkind: Pod", "document 1: metadata.name is missing"),
        ("apiVersion: v1\nkind: List\nitems: [3]", "document 1: is not an object"),
        ("!!python/object/apply:os.system ['true']", "is not YAML"),
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


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"absent\.yaml: cannot be read: No such file or directory"):
        load_objects([tmp_path / "absent.yaml"])


def test_lists_are_unfolded_and_one_job_is_found(tmp_path: Path) -> None:
    file = tmp_path / "all.yaml"
    file.write_text(
        "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: c}}\n---\n" + JOB
    )
    objects = load_objects([file])
    assert [o["kind"] for o in objects] == ["ConfigMap", "JAXJob"]
    assert str(only_job(objects)) == "JAXJob default/a"


@pytest.mark.parametrize(("jobs", "found"), [(0, "found none"), (2, "found JAXJob a, JAXJob a")])
def test_there_must_be_exactly_one_job(tmp_path: Path, jobs: int, found: str) -> None:
    file = tmp_path / "jobs.yaml"
    file.write_text("---\n".join([JOB] * jobs))
    with pytest.raises(BadInput, match=found):
        only_job(load_objects([file]))


@pytest.mark.parametrize("demo", DEMOS.values(), ids=DEMOS)
def test_every_demo_has_its_example(demo: Demo) -> None:
    assert only_job(load_objects([example(demo)])).namespace == "default"


def test_a_missing_module_is_said_with_the_way_to_get_it() -> None:
    with pytest.raises(BadInput, match=r"no_such_module cannot be imported by .*: ask somebody"):
        python_for(Demo("x", "no_such_module", "ask somebody"), None)
    with pytest.raises(BadInput, match="cannot be imported by /nonexistent/python"):
        python_for(Demo("x", "sys", "ask somebody"), Path("/nonexistent/python"))
