"""`migrate diff`: its inputs, its formats, its exit codes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from unit_tests.migration.conversions import jax, pytorch
from unit_tests.migration.diff.renderings import WORKED, compared, converted, naive
from unit_tests.migration.html_page import Page

from training_api.yaml_text import dump
from training_migration.cli import migrate
from training_migration.report.diff import as_html, as_json, as_markdown, as_text

Json = dict[str, Any]


def written(path: Path, objects: Sequence[Json]) -> str:
    path.write_text(dump(list(objects)))
    return str(path)


def called(*arguments: str) -> Result:
    return CliRunner().invoke(migrate, ["diff", *arguments, "--target", "2.3"])


def files(tmp_path: Path, obj: Json, v2: Sequence[Json]) -> tuple[str, str]:
    return written(tmp_path / "v1.yaml", [obj]), written(tmp_path / "v2.yaml", v2)


def test_the_naive_conversion_is_reported_with_exit_code_1(tmp_path: Path) -> None:
    _, _, train_job = naive(pytorch(1), nodes=2)
    result = called(*files(tmp_path, pytorch(1), [train_job]))
    assert (result.exit_code, result.stderr) == (1, "")
    assert result.output.splitlines()[:3] == [
        "PyTorchJob team/job, started by python",
        "v1: 2 pods in one group, world size 2",
        "v2: 2 pods, each alone",
    ]
    assert result.output.splitlines()[-1].startswith("trains differently: every node trains alone")


def test_without_v2_the_job_is_converted_first(tmp_path: Path) -> None:
    result = called(written(tmp_path / "v1.yaml", [pytorch(1)]))
    assert result.exit_code == 0, result.output
    assert result.output.splitlines()[-1] == "equivalent with compat env"


@pytest.mark.parametrize(("level", "code"), [("error", 0), ("warning", 0), ("info", 1), ("never", 0)])
def test_fail_on_decides_on_the_exit_code(tmp_path: Path, level: str, code: int) -> None:
    path = written(tmp_path / "v1.yaml", [pytorch(1)])
    assert called(path, "--fail-on", level).exit_code == code


def test_both_sides_may_be_in_one_file() -> None:
    path = str(WORKED["jax"])
    result = called(path, path, "--all")
    assert result.exit_code == 0
    assert "cluster spec" not in result.output
    assert "rank (PROCESS_ID)" in result.output
    assert "rank (PROCESS_ID)" not in called(path, path).output


def test_the_operators_settings_matter() -> None:
    path = str(WORKED["pytorch"])
    assert "pods of the gang" in called(path, path).output
    assert "pods of the gang" not in called(path, path, "--gang-scheduler-name", "volcano").output


def test_several_jobs_are_paired_by_name(tmp_path: Path) -> None:
    first, second = pytorch(1), jax(2)
    second["metadata"] = {"name": "other", "namespace": "team"}
    jobs = written(tmp_path / "v1.yaml", [first, second])
    sides = [part for obj in (second, first) for part in converted(obj)[1:]]
    result = called(jobs, written(tmp_path / "v2.yaml", sides), "--format", "json")
    assert [each["job"] for each in json.loads(result.output)] == ["PyTorchJob team/job", "JAXJob team/other"]
    alone = called(jobs, written(tmp_path / "less.yaml", converted(second)[1:]))
    assert alone.exit_code == 2
    assert "JAXJob team/other" in alone.stdout
    assert alone.stderr == f"Error: {tmp_path}/v1.yaml:1: there is no TrainJob team/job in {tmp_path}/less.yaml.\n"


def test_what_is_broken_does_not_keep_it_from_the_rest(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("a: [")
    bad = {**jax(1), "spec": {}}
    written(tmp_path / "b.yaml", [bad, pytorch(1)])
    result = called(str(tmp_path))
    assert result.exit_code == 2
    assert result.stdout.startswith("PyTorchJob team/job, started by python\n")
    assert [line.partition(": ")[0] for line in result.stderr.splitlines()] == ["Error", "Error"]
    assert called(str(tmp_path), "--fail-on", "never").exit_code == 0


@pytest.mark.parametrize(
    ("v2", "code", "sentence"),
    [
        ([], 2, "v2.yaml: there is no TrainJob in it.\n"),
        (
            [naive(pytorch(1), nodes=2)[2] | {"metadata": {"name": "Job", "namespace": "team"}}],
            4,
            "v2.yaml: v2 would reject it: metadata.name",
        ),
    ],
)
def test_what_cannot_be_compared_is_one_sentence(tmp_path: Path, v2: list[Json], code: int, sentence: str) -> None:
    result = called(*files(tmp_path, pytorch(1), v2))
    assert result.exit_code == code
    assert result.stderr.startswith("Error: ")
    assert sentence in result.stderr
    assert result.stdout == ""


def test_json_has_everything_and_text_what_differs() -> None:
    difference = compared(*naive(pytorch(2), nodes=3))
    content = as_json(difference)
    assert content["schema"] == "migrate.diff/1"
    assert (content["summary"], content["everyNodeAlone"]) == ("trains differently", True)
    assert content["training"] == {"v1": "3 pods in one group, world size 3", "v2": "3 pods, each alone"}
    folded = content["pairs"][1]
    assert (folded["v1"], folded["v2"]) == (["worker 0", "worker 1"], ["node 1", "node 2"])
    assert {"aspect": "environment", "path": "rank (RANK)", "v1": "1 ... 2", "v2": "", "verdict": "lost",
            "severity": "error",
            "reason": "a script without launcher finds no rank on v2"} in folded["items"]  # fmt: skip
    assert {"path": "apiVersion", "reason": "both sides make pods"} in content["notCompared"]
    assert json.loads(json.dumps(content)) == content
    text = as_text(difference)
    assert "\nworker 0, 1 = node 1, 2\n" in text
    assert " same " not in text
    assert " same " in as_text(difference, everything=True)


def test_a_terminal_gets_colours() -> None:
    assert "\x1b[" in as_text(compared(*naive(pytorch(1), nodes=2)), terminal=True)


def test_markdown_has_a_table_for_each_part() -> None:
    text = as_markdown(compared(*converted(pytorch(2))))
    titles = [line for line in text.splitlines() if line.startswith("#")]
    assert titles == [
        "## PyTorchJob team/job",
        "### master 0 = node 0",
        "### worker 0, 1 = node 1, 2",
        "### the whole job",
        "### what happens when",
    ]


def test_html_has_pictures_and_no_markup_of_others() -> None:
    obj = pytorch(1, env=[{"name": "TEXT", "value": "<script>alert(1)</script>"}])
    text = as_html(compared(*naive(obj, nodes=2)))
    page = Page(text)
    assert "&lt;script&gt;" in text
    assert page.tags.count("svg") == 2
    assert '<td class="bad">error</td>' in text
    assert "script" not in page.tags


def test_the_picture_shows_who_knows_whom(tmp_path: Path) -> None:
    page = as_html(compared(*naive(pytorch(1), nodes=2)))
    assert "worker 0 is configured with pod 0" in page
    assert "node 1 is configured with" not in page
    result = called(*files(tmp_path, pytorch(1), [naive(pytorch(1), nodes=2)[2]]), "--format", "html")
    assert result.output.startswith("<!doctype html>")
