"""`migrate survey`: one row for every job, broken ones included, ranked; the same as JSON and as one page."""

from __future__ import annotations

import base64
import copy
import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from e2e.support.profiles import tries
from e2e.support.v1_examples.expected import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from unit_tests.migration.html_page import Page

from training_api.documents import Document
from training_api.yaml_text import dump
from training_migration.cli import migrate
from training_migration.convert.conversion import Options
from training_migration.findings import Verdict
from training_migration.judgement import together
from training_migration.lint.suppression import IGNORE_ANNOTATION
from training_migration.masking import MASK
from training_migration.report.fleet import causes
from training_migration.report.survey import COLOURS, MEANINGS, ORDER, bar
from training_migration.rules import RULES, found
from training_migration.survey import rows
from training_migration.targets import Target

Json = dict[str, Any]
EXAMPLES = [each.job for each in examples(f"n{number}" for number in count())]


def survey(*arguments: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(migrate, ["survey", "--target", "2.3", *arguments], input=stdin)


def surveyed(*arguments: str, stdin: str | None = None) -> Json:
    content: Json = json.loads(survey("--format", "json", *arguments, stdin=stdin).stdout)
    return content


def jax_job(name: str = "a", **fields: Any) -> Json:
    container = {"name": "jax", "image": "example.com/train:1", "command": ["python", "train.py"], **fields}
    worker = {"replicas": 2, "template": {"spec": {"containers": [container]}}}
    metadata = {"name": name, "namespace": "team"}
    spec = {"jaxReplicaSpecs": {"Worker": worker}, "runPolicy": {"cleanPodPolicy": "Running"}}
    return {"apiVersion": "kubeflow.org/v1", "kind": "JAXJob", "metadata": metadata, "spec": spec}


def test_all_examples_of_v1_are_examined(tmp_path: Path) -> None:
    for number, each in enumerate(EXAMPLES):
        (tmp_path / f"{number:02}.yaml").write_text(dump([each]))
    content = surveyed(str(tmp_path))
    assert [job["ref"]["kind"] for job in content["jobs"]] == [each["kind"] for each in EXAMPLES]
    assert [job["error"] for job in content["jobs"]] == [""] * len(EXAMPLES)
    assert content["summary"]["impossible"] == 0, "an elastic job trains with a fixed number of nodes"
    assert all(job["reason"] for job in content["jobs"] if job["verdict"] in ("needs-work", "impossible"))


def test_what_is_broken_is_a_row_and_what_is_no_job_is_counted() -> None:
    rejected = {**jax_job("bad"), "spec": {"jaxReplicaSpecs": {"Boss": {}}}}
    other = {"apiVersion": "v1", "kind": "ConfigMap"}
    text = dump([other, jax_job(), rejected, {"a": 1}, other]) + "---\na: [\n"
    content = surveyed("-", stdin=text)
    assert content["ignored"] == {"v1 ConfigMap": 2, "without a kind": 1}
    assert [(job["ref"]["name"], job["verdict"] is None) for job in content["jobs"]] == [
        ("a", False),
        ("bad", True),
        ("", True),
    ]
    assert content["jobs"][1]["error"].startswith("v1 would reject it: spec.jaxReplicaSpecs")
    assert "is not valid YAML" in content["jobs"][2]["error"]
    assert content["jobs"][2]["ref"]["line"] > text.count("\n") - 2
    assert survey("-", stdin=text).exit_code == 2
    assert survey("-", "--fail-on", "never", stdin=text).exit_code == 0
    assert survey("-", "--fail-on", "never", stdin="a: [").exit_code == 2, "nothing to report on"
    assert "Ignored: 2 v1 ConfigMap, 1 without a kind." in survey("-", stdin=text).stdout


def test_of_a_rule_that_lint_and_conversion_apply_the_conversion_knows_more() -> None:
    mended, other = (next(each for each in RULES.values() if each.converted is known) for known in (True, False))
    linted = [found(mended.id, "lint"), found(other.id, "lint")]
    by_both = together(linted, [found(mended.id, "convert"), found(other.id, "convert", fixed=True)])
    assert {(each.rule.id, each.message, each.fixed) for each in by_both} == {
        (mended.id, "convert", False),
        (other.id, "convert", True),
    }
    alone = together(linted, [])
    assert {(each.rule.id, each.fixed) for each in alone} == {(mended.id, True), (other.id, False)}


def test_a_plain_pytorch_job_is_found_and_mended() -> None:
    """The guide's own example: without the conversion every node would train alone."""
    container = {"name": "pytorch", "image": "example.com/train:1", "command": ["python", "train.py"]}
    replica = {"replicas": 1, "template": {"spec": {"containers": [container]}}}
    job = {**jax_job(), "kind": "PyTorchJob", "spec": {"pytorchReplicaSpecs": {"Master": replica, "Worker": replica}}}
    [row] = surveyed("-", stdin=dump([job]))["jobs"]
    assert [each["fixed"] for each in row["findings"] if each["id"] == "MIG101"] == [True]
    assert row["verdict"] in ("exact", "equivalent")


def test_an_annotation_leaves_a_rule_out_but_not_what_the_conversion_loses() -> None:
    job = jax_job(command=["python", "-c", "import os; os.environ['KUBERNETES_PORT']; print(':6666')"])

    def ids(**annotations: str) -> set[str]:
        annotated = {**job, "metadata": {**job["metadata"], "annotations": annotations}}
        [row] = surveyed("-", stdin=dump([annotated]))["jobs"]
        return {each["id"] for each in row["findings"]}

    assert ids() - ids(**{IGNORE_ANNOTATION: "MIG106 MIG202"}) == {"MIG106"}


def test_numbers_that_are_too_large_are_rejected() -> None:
    huge = jax_job()
    huge["spec"]["jaxReplicaSpecs"]["Worker"]["replicas"] = 10**20
    [row] = surveyed("-", stdin=dump([huge]))["jobs"]
    assert row["error"].endswith("replicas: Invalid value: 100000000000000000000: must be at most 150000.")


def test_the_table_is_ranked_and_says_what_stands_in_the_way() -> None:
    lines = survey("-", stdin=dump(reversed(EXAMPLES))).stdout.splitlines()
    verdicts = [word for line in lines for word in line.split() if word in ORDER][: len(EXAMPLES)]
    assert verdicts == sorted(verdicts, key=ORDER.index)
    assert "into trainer.numProcPerNode" in " ".join(survey("-", stdin=dump(EXAMPLES)).stdout.split())
    assert lines[-1].startswith(f"{len(EXAMPLES)} jobs for Trainer 2.3: ")


@pytest.mark.parametrize(
    ("arguments", "code"),
    [([], 1), (["--fail-on", "never"], 0), (["--fail-on", "never", "--strict"], 3), (["--strict"], 3)],
)
def test_exit_codes(arguments: list[str], code: int) -> None:
    elastic = next(each for each in EXAMPLES if "elasticPolicy" in each["spec"])
    assert survey("-", *arguments, stdin=dump([elastic, jax_job()])).exit_code == code
    assert survey("-", *arguments, stdin=dump([jax_job()])).exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "Give a PATH or --from-cluster."),
        (["x", "-n", "a"], "Options of the cluster need --from-cluster."),
        (["--from-cluster", "-A", "-n", "a"], "--namespace and --all-namespaces are mutually exclusive."),
    ],
)
def test_wrong_usage(arguments: list[str], sentence: str) -> None:
    result = survey(*arguments)
    assert (result.exit_code, result.stderr.splitlines()[-1]) == (2, f"Error: {sentence}")


def test_without_a_cluster_it_says_so(tmp_path: Path) -> None:
    result = survey("--from-cluster", "--kubeconfig", str(tmp_path / "none"))
    assert result.exit_code == 5
    assert result.stderr == f"Error: kubeconfig {tmp_path / 'none'} cannot be used: there is no such file.\n"


def test_the_page_needs_nothing_else_and_every_link_leads_somewhere(tmp_path: Path) -> None:
    out = tmp_path / "survey.html"
    hostile = jax_job("x")
    hostile["metadata"]["namespace"] = "<script>alert(1)</script>"
    survey("-", "--format", "html", "-o", str(out), stdin=dump([*EXAMPLES, hostile]))
    page = Page(out.read_text())
    assert page.links <= page.anchors
    assert "#diff-0" in page.links
    assert "#diff-" not in survey("-", "--format", "html", "--no-diffs", stdin=dump([hostile])).stdout
    text = out.read_text()
    [script] = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'\"" in text, "a browser runs this script and no other"
    assert "http" not in "".join(page.links)
    assert {"svg", "details", "table"} <= set(page.tags)


def findings(*severities: tuple[str, str]) -> list[Json]:
    return [
        {"id": rule, "severity": severity, "title": rule, "path": "", "message": "m", "remedy": "r", "fixed": False}
        for rule, severity in severities
    ]


def entry(name: str, *severities: tuple[str, str], verdict: str | None = "exact", **fields: Any) -> Json:
    ref = {"kind": "JAXJob", "namespace": "team", "name": name, "source": f"{name}.yaml", "line": 1}
    return {"ref": ref, "owner": "", "verdict": verdict, "reason": "", "rejected": "", "error": "",
            "findings": findings(*severities), **fields}  # fmt: skip


def test_causes_are_ranked_by_what_they_stop_and_then_by_how_many_have_them() -> None:
    jobs = [
        entry("a", ("MIG305", "warning"), ("MIG403", "error"), ("MIG403", "error")),
        entry("b", ("MIG305", "warning"), ("MIG203", "error"), ("MIG202", "info")),
        entry("c", ("MIG203", "error")),
        entry("d", error="broken", verdict=None),
    ]
    found = [(each.id, each.severity.value, each.jobs) for each in causes(jobs)]
    assert found == [
        ("MIG203", "error", [1, 2]),
        ("MIG403", "error", [0]),
        ("broken", "error", [3]),
        ("MIG305", "warning", [0, 1]),
    ]
    mended = entry("e", ("MIG203", "error"))
    mended["findings"][0]["fixed"] = True
    assert causes([mended]) == []


def test_progress_since_an_earlier_survey(tmp_path: Path) -> None:
    fixed = jax_job("a")
    broken = {**fixed, "spec": {"jaxReplicaSpecs": {"Boss": {}}}}
    before, nothing = tmp_path / "before.json", tmp_path / "none.json"
    survey("-", "--format", "json", "-o", str(before), stdin=dump([broken, jax_job("gone"), jax_job("same")]))
    content = surveyed("-", "--since", str(before), stdin=dump([fixed, jax_job("same"), jax_job("new")]))
    since = content["since"]
    assert [(each["ref"]["name"], each["from"]) for each in since["better"]] == [("a", None)]
    assert since["worse"] == []
    assert [[each["name"] for each in since[field]] for field in ("new", "gone")] == [["new"], ["gone"]]
    said = f"Since {before}: 1 better, 1 new, 1 no longer there (moved or deleted)."
    arguments = ("-", "--since", str(before))
    given = dump([fixed, jax_job("same"), jax_job("new")])
    assert said in survey(*arguments, stdin=given).stdout
    assert said in survey(*arguments, "--format", "html", stdin=given).stdout
    nothing.write_text("[]")
    result = survey("-", "--since", str(nothing), stdin=given)
    assert (result.exit_code, result.stderr) == (
        2,
        f"Error: {nothing}: is no survey: `survey --format json` writes one.\n",
    )


def test_jobs_belong_to_whom_their_labels_name() -> None:
    job = {**jax_job(), "metadata": {"name": "a", "labels": {"team": "vision", "boss": "ann"}}}
    assert [each["owner"] for each in surveyed("-", stdin=dump([job, jax_job("b")]))["jobs"]] == ["vision", ""]
    [row] = surveyed("-", "--owner-label", "boss", stdin=dump([job]))["jobs"]
    assert row["owner"] == "ann"


def test_the_bar_is_as_long_as_all_its_parts() -> None:
    shown = bar({"exact": 1, "equivalent": 0, "needs-work": 3, "impossible": 0, "broken": 0})
    assert 'x="0.000" y="0" width="25.000"' in shown
    assert 'x="25.000" y="0" width="75.000"' in shown
    assert "equivalent" not in shown
    assert bar(dict.fromkeys(ORDER, 0)).count("<rect") == 0


def test_every_verdict_has_its_place_its_meaning_and_its_colour() -> None:
    assert set(ORDER) == set(MEANINGS) == set(COLOURS) == {*(each.value for each in Verdict), "broken"}


@pytest.mark.parametrize("style", ["text", "json", "markdown", "html"])
def test_no_secret_is_shown(style: str) -> None:
    job = jax_job(env=[{"name": "HF_TOKEN", "value": "hf_verysecret"}], command=["run", "--password=verysecret"])
    broken = {**jax_job("bad"), "spec": {"jaxReplicaSpecs": {"--token verysecret": {}}}}
    shown = survey("-", "--format", style, stdin=dump([job, broken])).stdout
    assert "verysecret" not in shown
    assert MASK in shown or style == "html"


def test_a_password_that_is_a_number_is_not_shown_either() -> None:
    [row] = surveyed("-", stdin=dump([jax_job(env=[{"name": "PIN", "value": 27182818}])]))["jobs"]
    assert row["error"].endswith('env[0].value: Invalid value: "********": must be text.')


ODD: tuple[Any, ...] = (None, 0, -1, 1.5, "", "x", "$(A)", [], {}, [None], {"a": None}, True, [[]], [{}], 10**20, "é\n")


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    if isinstance(value, dict | list):
        for key, each in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places(each, (*path, key))


@settings(max_examples=tries(30))
@given(
    st.sampled_from(EXAMPLES), st.lists(st.tuples(st.integers(0, 10**6), st.sampled_from(ODD)), min_size=1, max_size=3)
)
def test_no_job_however_odd_ends_the_survey(example: Json, changes: list[tuple[int, Any]]) -> None:
    job = copy.deepcopy(example)
    for number, value in changes:
        deep = [path for path in places(job) if len(path) > 1]
        *above, last = deep[number % len(deep)]
        inner = job
        for key in above:
            inner = inner[key]
        inner[last] = copy.deepcopy(value)
    documents = [Document("x", 1, job), Document("x", 2, jax_job())]
    odd, good = rows(documents, Options(Target.V2_3), Counter())
    assert odd.error or odd.verdict
    assert good.verdict
