"""Verbs that say what becomes of a job say the same."""

from __future__ import annotations

import copy
import json
import re
from pathlib import Path

from click.testing import CliRunner
from unit_tests.migration.conversions import pytorch
from unit_tests.migration.golden_corpus import FOLDER
from unit_tests.migration.test_convert_any import KNOWN

from training_api.yaml_text import dump
from training_migration.cli import migrate
from training_migration.convert.conversion import Options
from training_migration.findings import Verdict
from training_migration.judgement import judged
from training_migration.targets import Target
from training_migration.v1_job import v1_job

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
    told = {found["source"]: found for found in LINE.finditer(converted.stderr)}
    assert told.keys() >= rows.keys()
    assert len(rows) > 40
    for source, row in rows.items():
        if told[source]["verdict"] == "not converted":
            assert row["verdict"] in ("needs-work", "impossible"), source
            continue
        assert told[source]["verdict"] == row["verdict"], source
        rules = {each["id"] for each in row["findings"] if not each["fixed"] and each["severity"] != "info"}
        assert set(re.findall(r"MIG\d+", told[source]["rules"] or "")) == rules, source


def test_what_is_refused_is_not_done() -> None:
    long = pytorch()
    long["metadata"]["name"] = "a" * 50
    conversion = judged(v1_job(long), Options(Target.V2_3))
    assert conversion.refused
    assert conversion.verdict is Verdict.NEEDS_WORK
