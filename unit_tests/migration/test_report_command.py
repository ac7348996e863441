"""`migrate report`: what the other verbs write as JSON, in one document."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner, Result
from unit_tests.migration.html_page import Page
from unit_tests.migration.test_compare_command import ALONE, V1, V2

from training_api.yaml_text import dump
from training_migration.cli import migrate
from training_migration.report.chapter import Status
from training_migration.report.results import READERS, Unreadable, chapters
from training_migration.report.verify import as_json as verify_json
from training_migration.runs.record import to_json
from training_migration.targets import Target
from training_migration.verify.differences import Difference
from training_migration.verify.outcome import Subject, Verification, VerificationOutcome
from training_migration.verify.verify import How

Json = dict[str, Any]


def run(*arguments: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(migrate, list(arguments), input=stdin)


def job(name: str, *, elastic: bool = False) -> Json:
    container = {"name": "pytorch", "image": "example.com/<train>:1", "command": ["python", "train.py"]}
    replica = {"replicas": 2, "template": {"spec": {"containers": [container]}}}
    spec: Json = {"pytorchReplicaSpecs": {"Worker": replica}, "runPolicy": {"backoffLimit": 1}}
    if elastic:
        spec["elasticPolicy"] = {"minReplicas": 1, "maxReplicas": 3}
    return {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": name}, "spec": spec}


def item(severity: str | None, reason: str) -> Json:
    return {
        "aspect": "launch",
        "path": "command",
        "v1": "a",
        "v2": "b",
        "verdict": "x",
        "severity": severity,
        "reason": reason,
    }


DIFF: Json = {
    "schema": "migrate.diff/1",
    "job": "PyTorchJob plain",
    "headline": "Trains differently.",
    "pairs": [
        {"v1": ["worker 0", "worker 1"], "v2": [], "items": [item("error", "no <launcher>"), item(None, "same")]}
    ],
    "whole": [item("info", "shown otherwise")],
    "situations": [],
}
PROBE: Json = {
    "schema": "migrate.probe/1",
    "sides": [
        {
            "side": "v1",
            "end": "succeeded",
            "reasons": [],
            "pods": [
                {"role": "worker", "index": 0, "ok": True, "why": "", "rank": 0, "worldSize": 2, "coordinator": "a:1"},
                {"role": "worker", "index": 1, "ok": False, "why": "alone", "rank": None, "worldSize": None,
                 "coordinator": None},
            ],
        },
        {"side": "v2", "end": "timed-out", "reasons": ["it took too long"], "pods": []},
    ],
}  # fmt: skip
VERIFY: Json = {
    "schema": "migrate.verify/1",
    "target": "2.3",
    "jobs": [
        {"ref": {"kind": "JAXJob", "name": "a"}, "outcome": "equal", "message": "", "objects": 9, "differences": []},
        {"ref": {"kind": "JAXJob", "name": "b"}, "outcome": "different", "message": "", "objects": 9,
         "differences": [{"object": "Job x", "path": "spec", "predicted": "1", "built": "2"}]},
        {"ref": {"kind": "JAXJob", "name": "c"}, "outcome": "inconclusive", "message": "no time", "objects": 0,
         "differences": []},
    ],
    "summary": {"equal": 1, "different": 1, "inconclusive": 1},
}  # fmt: skip


@pytest.fixture
def results(tmp_path: Path) -> list[str]:
    """One file for each verb whose results can be merged."""
    jobs = dump([job("plain"), job("grows", elastic=True), {"kind": "Other"}]) + "---\na: [\n"
    for verb in ("survey", "lint"):
        answer = run(verb, "-", "--target", "2.3", "--format", "json", "-o", str(tmp_path / f"{verb}.json"), stdin=jobs)
        assert answer.exit_code == 2, answer.stderr
    for name, record in (("v1", V1), ("v2", V2), ("alone", ALONE)):
        (tmp_path / f"run-{name}.json").write_bytes(to_json(record))
    for name in ("v2", "alone"):
        runs = (str(tmp_path / f"run-{each}.json") for each in ("v1", name))
        run("compare", *runs, "--format", "json", "-o", str(tmp_path / f"compare-{name}.json"))
    for name, content in (("diff", [DIFF, DIFF]), ("probe", PROBE), ("verify", VERIFY)):
        (tmp_path / f"{name}.json").write_text(json.dumps(content))
    names = ("survey", "lint", "diff", "probe", "verify", "compare-v2", "compare-alone")
    return [str(tmp_path / f"{each}.json") for each in names]


def test_every_schema_is_among_the_results(results: list[str]) -> None:
    found = [json.loads(Path(each).read_text()) for each in results]
    assert {(each[0] if isinstance(each, list) else each)["schema"] for each in found} == set(READERS)


def test_what_diff_and_verify_write_is_read() -> None:
    jobs = dump([job("plain"), job("other")])
    [first, second] = chapters(run("diff", "-", "--target", "2.3", "--format", "json", stdin=jobs).stdout, "x")
    assert [first.checks[0].name, second.checks[0].name] == ["PyTorchJob default/plain", "PyTorchJob default/other"]
    assert first.status is not Status.BAD
    differences = (Difference("Job/a", "spec.x", 1, None),)
    subject = Subject("x", 1, "JAXJob", {"metadata": {"name": "a"}}, None)
    verified = [Verification(subject, each, differences=differences) for each in VerificationOutcome]
    [chapter] = chapters(json.dumps(verify_json(verified, How(Target.V2_3, "team"))), "x")
    assert [check.status for check in chapter.checks].count(Status.GOOD) == 1
    assert len(chapter.tables) == 1 + len(VerificationOutcome)


def test_markdown_has_a_section_for_each_result(results: list[str]) -> None:
    shown = run("report", *results)
    assert shown.exit_code == 0, shown.stderr
    sections = [line for line in shown.stdout.splitlines() if line.startswith("## ")]
    verbs = [line.removeprefix("## ").partition(":")[0] for line in sections]
    assert verbs == ["survey", "lint", "diff", "diff", "probe", "verify", "compare", "compare"]
    assert "3 jobs for Trainer 2.3: " in shown.stdout
    assert "Ignored: 1 Other." in shown.stdout
    assert "PyTorchJob plain: Trains differently." in shown.stdout
    assert "1 of 2 pods met the others." in shown.stdout
    assert "3 jobs against Trainer 2.3: 1 equal, 1 different, 1 inconclusive." in shown.stdout
    assert "every node trains alone" in shown.stdout
    assert "no &lt;launcher>" in shown.stdout
    assert "| same |" not in shown.stdout


def test_junit_fails_what_is_bad_and_skips_what_a_person_has_to_look_at(results: list[str], tmp_path: Path) -> None:
    assert run("report", *results, "-o", str(tmp_path / "r.xml")).exit_code == 0
    root = ElementTree.fromstring((tmp_path / "r.xml").read_text())
    suites = {suite.attrib["name"].partition(" ")[0]: suite for suite in root}
    for suite in root:
        assert int(suite.attrib["tests"]) == len(suite)
        assert int(suite.attrib["failures"]) == len(suite.findall("testcase/failure"))
        assert int(suite.attrib["skipped"]) == len(suite.findall("testcase/skipped"))
    counted = {
        name: tuple(suite.attrib[key] for key in ("tests", "failures", "skipped")) for name, suite in suites.items()
    }
    assert counted["survey"] == ("3", "1", "0")
    assert counted["diff"] == ("1", "1", "0")
    assert counted["probe"] == ("3", "1", "1")
    assert counted["verify"] == ("3", "1", "1")
    assert counted["compare"] == ("1", "1", "0")
    assert [suite.attrib["failures"] for suite in root if suite.attrib["name"].startswith("compare")] == ["0", "1"]


def test_the_page_has_pictures_and_needs_nothing_else(results: list[str], tmp_path: Path) -> None:
    assert run("report", *results, "-o", str(tmp_path / "r.html")).exit_code == 0
    text = (tmp_path / "r.html").read_text()
    page = Page(text)
    assert page.links <= page.anchors
    assert {"#chapter-0", "#chapter-7"} <= page.links
    assert page.tags.count("svg") >= 4, "the survey's bar, ranks of both sides, the curves of the loss"
    assert "script" not in page.tags
    assert "<launcher>" not in text


def test_results_may_come_from_standard_input(results: list[str]) -> None:
    shown = run("report", "-", "--format", "junit", stdin=Path(results[0]).read_text())
    assert ElementTree.fromstring(shown.stdout)[0].attrib["name"] == "survey standard input"


FLEET = {"target": "", "kubernetes": "", "ignored": {}, "summary": {}}
REF = {"kind": "", "name": "", "namespace": "", "source": "", "line": 1}
FINDING = dict.fromkeys(("id", "severity", "path", "source", "message", "remedy", "reference"), "") | {
    "line": 1,
    "fixed": False,
}
TITLED_BY_A_MAP = {
    "ref": REF, "reason": "", "rejected": "", "error": "", "findings": [{**FINDING, "title": {}}]
}  # fmt: skip


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("a", "x: is not JSON: "),
        ("3", "x: its schema '' is none that a report can be made of: migrate.compare/1, "),
        ('{"schema": "migrate.run/1"}', "x: its schema 'migrate.run/1' is none that"),
        ('{"schema": ["a"]}', "x: its schema \"['a']\" is none that"),
        ('{"schema": "migrate.diff/1"}', "x: is no complete migrate.diff/1: job: Required value: must be there."),
        ('{"schema": "migrate.lint/1", "findings": 3}', "x: is no complete migrate.lint/1: "),
        (
            json.dumps({"schema": "migrate.report/1", **FLEET, "jobs": [TITLED_BY_A_MAP]}),
            "x: is no complete migrate.report/1: jobs[0].findings[0].title: Invalid value: ",
        ),
        (
            json.dumps({"schema": "migrate.compare/1", "runs": {"v1": {}, "v2": {}}, "rows": []}),
            "x: is no complete migrate.compare/1: ",
        ),
    ],
)
def test_what_is_no_result_is_said_in_one_sentence(text: str, sentence: str) -> None:
    with pytest.raises(Unreadable) as raised:
        chapters(text, "x")
    assert str(raised.value).startswith(sentence)
    assert "\n" not in str(raised.value)
    result = run("report", "-", stdin=text)
    assert (result.exit_code, result.stderr) == (2, f"Error: {raised.value}\n".replace("x: ", "standard input: ", 1))


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    result = run("report", str(tmp_path / "none"))
    assert result.exit_code == 2
    assert result.stderr == f"Error: {tmp_path / 'none'}: It cannot be read: No such file or directory.\n"
