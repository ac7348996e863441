"""Verbs that say what becomes of a job say the same."""

from __future__ import annotations

import copy
import json
import re
from pathlib import Path
from typing import Any

import yaml
from click.testing import CliRunner
from unit_tests.migration.conversions import pytorch
from unit_tests.migration.golden_corpus import FOLDER
from unit_tests.migration.test_convert_any import KNOWN
from unit_tests.migration.test_expected_verdicts import CASES, job

from training_api.yaml_text import dump
from training_migration.cli import migrate
from training_migration.convert.conversion import Options
from training_migration.convert.round_trip import round_trip
from training_migration.diff.model import Summary
from training_migration.findings import Verdict
from training_migration.judgement import judged
from training_migration.targets import Target
from training_migration.v1_job import Invalid, v1_job

LINE = re.compile(
    r"^(?P<source>.*?):\d+: \w+ \S+: (?P<verdict>not converted|[\w-]+)\b(?P<rules> \([^)]*\))?", re.MULTILINE
)


def test_survey_and_convert_give_every_job_the_same_verdict(tmp_path: Path) -> None:
    for number, each in enumerate(KNOWN):
        obj = copy.deepcopy(each.values[0])
        obj["metadata"] = {**obj["metadata"], "name": f"j{number}"}
        (tmp_path / f"{number:03}.yaml").write_text(dump([obj]))
    for path in FOLDER.glob("*/v1.yaml"):
        (tmp_path / f"{path.parent.name}.yaml").write_text(path.read_text())
    survey = CliRunner().invoke(migrate, ["survey", str(tmp_path), "--target", "2.3", "--format", "json"])
    rows = {job["ref"]["source"]: job for job in json.loads(survey.stdout)["jobs"] if not job["error"]}
    converted = CliRunner().invoke(migrate, ["convert", str(tmp_path), "--target", "2.3", "-o", str(tmp_path / "v2")])
    result = {found["source"]: found for found in LINE.finditer(converted.stderr)}
    assert result.keys() >= rows.keys()
    assert len(rows) > 40
    for source, row in rows.items():
        if result[source]["verdict"] == "not converted":
            assert row["verdict"] in ("needs-work", "impossible"), source
            continue
        assert result[source]["verdict"] == row["verdict"], source
        rules = {each["id"] for each in row["findings"] if not each["fixed"] and each["severity"] != "info"}
        assert set(re.findall(r"MIG\d+", result[source]["rules"] or "")) == rules, source


OF_VERDICT = {
    Verdict.EXACT: {Summary.EQUIVALENT, Summary.COMPAT},
    Verdict.EQUIVALENT: {Summary.EQUIVALENT, Summary.COMPAT, Summary.LIFE_CYCLE},
}
"""What the comparison of pods may say of a job with this verdict; anything of a job that needs work."""


def contradiction(obj: dict[str, Any]) -> str:
    """Where `survey` or `convert` says of a job what `diff` denies; empty where neither does."""
    try:
        conversion = judged(v1_job(obj), Options(Target.V2_3))
    except Invalid:
        return ""
    if conversion.rejected:
        return ""
    trip = round_trip(conversion)
    if (brief := round_trip(conversion, brief=True).headline) != trip.headline:
        return f"`convert` says {brief}, `diff` says {trip.headline}"
    allowed = OF_VERDICT.get(conversion.verdict, set(Summary))
    fits = not trip.rejected and (trip.difference is None or trip.difference.summary in allowed)
    return "" if fits else f"{conversion.verdict}, but {trip.rejected or trip.headline}"


def test_no_job_is_said_to_train_the_same_whose_pods_train_differently() -> None:
    known = {f"known {number}": copy.deepcopy(each.values[0]) for number, each in enumerate(KNOWN)}
    golden = {path.parent.name: yaml.safe_load(path.read_text()) for path in FOLDER.glob("*/v1.yaml")}
    real = {name: job(case) for name, case in CASES.items()}
    found = {name: contradiction(obj) for name, obj in {**known, **golden, **real}.items()}
    assert {name: said for name, said in found.items() if said} == {}
    assert len(found) > 120


def test_processes_for_each_cpu_are_reported_beside_other_accelerators_as_well() -> None:
    obj = pytorch(command=[], resources={"limits": {"nvidia.com/mig-1g.5gb": 1}})
    assert contradiction(obj) == "", "torchrun counts these"
    obj["spec"]["nprocPerNode"] = "cpu"
    assert contradiction(obj) == ""
    assert judged(v1_job(obj), Options(Target.V2_3)).verdict is Verdict.EQUIVALENT


def test_what_is_rejected_is_not_done() -> None:
    long = pytorch()
    long["metadata"]["name"] = "a" * 50
    conversion = judged(v1_job(long), Options(Target.V2_3))
    assert conversion.rejected
    assert conversion.verdict is Verdict.NEEDS_WORK


def test_a_job_whose_name_the_api_server_makes_gets_a_fixed_one() -> None:
    obj = pytorch()
    obj["metadata"] = {"generateName": "tune-", "namespace": "team"}
    conversion = judged(v1_job(obj), Options(Target.V2_3))
    assert conversion.train_job["metadata"]["name"] == "tune"
    assert [each.message for each in conversion.findings if each.rule.id == "MIG009" and not each.fixed]
    assert conversion.verdict is Verdict.EQUIVALENT
    assert contradiction(obj) == ""
