"""`migrate compare`: its formats, its exit codes, its pictures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner, Result
from unit_tests.migration.html_page import Page

from training_controllers.frameworks.plugins import kinds
from training_migration.cli import migrate
from training_migration.compare import compare
from training_migration.report.compare import as_html
from training_migration.report.svg import Cell, Curve, curves, matrix
from training_migration.runs.record import (
    EndState,
    Pod,
    Process,
    Ref,
    RunRecord,
    Series,
    Side,
    to_json,
)


def record(side: Side, *, alone: bool = False, **fields: Any) -> RunRecord:
    places = [("master", 0), ("worker", 0)] if side is Side.V1 else [("node", 0), ("node", 1)]
    known: dict[str, Any] = {
        "side": side,
        "ref": Ref("PyTorchJob" if side is Side.V1 else "TrainJob", "team", "mnist"),
        "end": EndState.SUCCEEDED,
        "pods": tuple(Pod(*place, 0, 0) for place in places),
        "processes": tuple(
            Process(*place, 0, 1, 0) if alone else Process(*place, rank, 2, 0) for rank, place in enumerate(places)
        ),
    }
    return RunRecord(**(known | fields))


LOSS = (Series("loss", 0, ((1, 0.9), (2, 0.5), (3, 0.3))),)
V1, V2 = record(Side.V1, metrics=LOSS), record(Side.V2, metrics=LOSS)
ALONE = record(Side.V2, alone=True, metrics=LOSS)


def called(tmp_path: Path, v1: RunRecord, v2: RunRecord, *options: str) -> Result:
    (tmp_path / "v1.json").write_bytes(to_json(v1))
    (tmp_path / "v2.json").write_bytes(to_json(v2))
    return CliRunner().invoke(migrate, ["compare", f"{tmp_path}/v1.json", f"{tmp_path}/v2.json", *options])


@pytest.mark.parametrize(
    ("v2", "options", "code", "sentence"),
    [
        (V2, (), 0, "The same training happened on both sides."),
        (V2, ("--tolerance", "0"), 0, "The same training happened on both sides."),
        (ALONE, (), 6, "Not the same training: on v2 every node trains alone, while v1 had ranks 0, 1 of 2."),
        (record(Side.V2, processes=None), (), 7, "Not enough evidence: there was no witness on v2."),
        (record(Side.V2), ("--tolerance", "0.1"), 7, "Not enough evidence: loss of rank 0 is missing on v2."),
    ],
)
def test_the_exit_code_is_the_outcome(
    tmp_path: Path, v2: RunRecord, options: tuple[str, ...], code: int, sentence: str
) -> None:
    result = called(tmp_path, V1, v2, *options)
    assert (result.exit_code, result.output.splitlines()[-1]) == (code, sentence)


def test_the_table_has_a_row_for_each_aspect(tmp_path: Path) -> None:
    lines = called(tmp_path, V1, ALONE).output.splitlines()
    assert lines[0].split() == ["aspect", "v1", "v2", "verdict", "reason"]
    assert lines[2].split("  ") and "on v2 every node trains alone" in lines[2]


def test_json_has_rows_and_both_records(tmp_path: Path) -> None:
    written = tmp_path / "out.json"
    result = called(tmp_path, V1, ALONE, "--format", "json", "-o", str(written))
    content = json.loads(written.read_text())
    assert (result.exit_code, result.output) == (6, "")
    assert content["schema"] == "migrate.compare/1"
    assert content["outcome"] == "different"
    assert content["runs"]["v2"]["ref"] == {"kind": "TrainJob", "namespace": "team", "name": "mnist"}
    assert {"aspect": "ranks", "v1": "ranks 0, 1 of 2", "v2": "2 pods, each alone", "verdict": "different",
            "reason": "on v2 every node trains alone"} in content["rows"]  # fmt: skip


def test_markdown_is_a_table(tmp_path: Path) -> None:
    lines = called(tmp_path, V1, V2, "--format", "markdown").output.splitlines()
    assert lines[:6] == [
        "## equal",
        "",
        "The same training happened on both sides.",
        "",
        "| aspect | v1 | v2 | verdict | reason |",
        "| --- | --- | --- | --- | --- |",
    ]


@pytest.mark.parametrize(
    ("v1", "v2", "sentence"),
    [
        (V1, b"{", "v2.json: not JSON: Input data was truncated."),
        (V2, to_json(V1), "v1.json: is a run of v2; the run of v1 comes first, that of v2 second."),
        (
            record(Side.V1, ref=Ref("Deployment", "a", "b")),
            to_json(V2),
            f"ref.kind 'Deployment' is none of v1's: {', '.join(kinds())}.",
        ),
    ],
)
def test_bad_records_are_one_sentence_and_exit_code_2(tmp_path: Path, v1: RunRecord, v2: bytes, sentence: str) -> None:
    (tmp_path / "v1.json").write_bytes(to_json(v1))
    (tmp_path / "v2.json").write_bytes(v2)
    result = CliRunner().invoke(migrate, ["compare", f"{tmp_path}/v1.json", f"{tmp_path}/v2.json"])
    assert result.exit_code == 2
    assert result.stderr.startswith("Error: ") and result.stderr.endswith(f"{sentence}\n")
    assert result.stdout == ""


def test_a_file_that_is_not_there_is_exit_code_2(tmp_path: Path) -> None:
    result = CliRunner().invoke(migrate, ["compare", str(tmp_path / "a"), str(tmp_path / "b")])
    assert (result.exit_code, result.stderr) == (
        2,
        f"Error: {tmp_path}/a: It cannot be read: No such file or directory.\n",
    )


EVIL = "<script>alert(1)</script>&\"'"


def test_nothing_of_a_record_becomes_markup() -> None:
    pods = (Pod(EVIL, 0, 0, 0),)
    evil = record(
        Side.V2,
        pods=pods,
        reasons=(EVIL,),
        processes=(Process(EVIL, 0, 0, 1, 0, group=EVIL),),
        metrics=(Series(EVIL, 0, ((1, 1.0), (2, 2.0))),),
    )
    text = as_html(compare(V1, evil))
    assert "script" not in Page(text).tags
    assert "<script" not in text
    assert "&lt;script&gt;" in text


def test_the_page_is_one_file_with_pictures_of_ranks_and_curves(tmp_path: Path) -> None:
    text = called(tmp_path, V1, ALONE, "--format", "html").output
    page = Page(text)
    assert page.tags.count("svg") == 3
    assert '<td class="bad">different</td>' in text
    assert page.links == set()
    assert "prefers-color-scheme: dark" in text


def drawn(picture: str) -> ElementTree.Element:
    return ElementTree.fromstring(picture.partition("</svg>")[0] + "</svg>")


def test_a_matrix_fills_the_cells_of_ranks() -> None:
    picture = drawn(matrix("who", ["node 0", "node 1"], 2, [Cell(0, 0, "v2", "a"), Cell(1, 1, "v2", "b")]))
    filled = [each for each in picture.iter() if each.get("class") == "v2"]
    assert [(each.get("x"), each.get("y")) for each in filled] == [("51", "21"), ("65", "35")]


def test_of_very_many_pods_the_first_are_shown_and_the_others_counted() -> None:
    names = [f"node {number}" for number in range(100)]
    picture = matrix("who", names, 100, [Cell(99, 99, "v2", "last")])
    assert picture.endswith("<p>52 more pods. 52 more ranks. </p>")
    assert "last" not in picture


def test_a_curve_has_gaps_where_there_is_no_number() -> None:
    points = [(1.0, 1.0), (2.0, 0.5), (3.0, None), (4.0, 0.25)]
    picture = drawn(curves("loss", [Curve("v1", "loss", points)]))
    assert [each.tag.rpartition("}")[2] for each in picture.iter() if each.get("class") == "v1"] == [
        "polyline",
        "circle",
    ]
    assert curves("loss", [Curve("v1", "loss", [(1.0, None)])]) == ""


def test_long_curves_are_thinned_and_keep_their_ends() -> None:
    points = [(float(step), float(step)) for step in range(5000)]
    (line,) = [each for each in drawn(curves("x", [Curve("v1", "x", points)])).iter() if each.get("points")]
    places = (line.get("points") or "").split()
    assert len(places) <= 401
    assert (places[0], places[-1]) == ("52.0,176.0", "452.0,10.0")
