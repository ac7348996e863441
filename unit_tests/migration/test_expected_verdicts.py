"""Real jobs get the verdict that a reader gave them: small jobs of the same traits do."""

from __future__ import annotations

import copy
import csv
from typing import Any

import pytest
import yaml
from e2e.support.paths import ROOT

from training_api.registry import KINDS
from training_migration.convert.conversion import Options
from training_migration.convert.sharing import shared
from training_migration.findings import Verdict
from training_migration.judgement import judged
from training_migration.targets import Target
from training_migration.v1_job import v1_job

Json = dict[str, Any]
FOLDER = ROOT / "e2e" / "migration"
CASES = yaml.safe_load((FOLDER / "verdict-cases.yaml").read_text())
ROWS = list(csv.DictReader((FOLDER / "expected-verdicts.tsv").open(), delimiter="\t"))
FIRST = {"MPIJob": "Launcher"}
COUNTS = {"masters": "Master", "servers": "PS", "workers": "Worker"}


def job(case: Json) -> Json:
    """The whole job of a case."""
    case = copy.deepcopy(case)
    info = KINDS[case["kind"]]
    replicas = {}
    for field, name in COUNTS.items():
        if field not in case:
            continue
        main = {"name": info.container, "image": "example.com/train:1", **case["main"]}
        if field == "masters":
            main |= case.get("master", {})
        pod = {**case.get("pod", {}), "containers": [main]}
        if "volumeMounts" in main:
            pod["volumes"] = [{"name": each["name"], "emptyDir": {}} for each in main["volumeMounts"]]
        replica: Json = {"replicas": case[field], "template": {"spec": pod}}
        if case["kind"] != "MPIJob":
            replica["restartPolicy"] = case.get("restartPolicy", "OnFailure")
        replicas[FIRST.get(case["kind"], name) if field == "masters" else name] = replica
    metadata = {"name": "job", "namespace": "team", "annotations": case.get("annotations", {})}
    spec = {info.replica_field: replicas, **case.get("spec", {})}
    return {"apiVersion": "kubeflow.org/v1", "kind": case["kind"], "metadata": metadata, "spec": spec}


def test_every_case_is_that_of_a_real_job_and_every_real_job_has_one() -> None:
    assert {row["case"] for row in ROWS} == set(CASES)
    assert len(ROWS) == len({tuple(row.values()) for row in ROWS}) == 58
    assert all(row["because"] for row in ROWS)


@pytest.mark.parametrize("name", CASES)
def test_the_verdict_is_the_expected_one(name: str) -> None:
    expected = {row["verdict"] for row in ROWS if row["case"] == name}
    conversion = judged(v1_job(job(CASES[name])), Options(Target.V2_3))
    why = [f"{each.rule.id} {each.level}: {each.message}" for each in conversion.findings if not each.fixed]
    assert {conversion.verdict.value} == expected, "\n".join(why)


def test_no_trait_of_these_makes_a_job_impossible() -> None:
    assert Verdict.IMPOSSIBLE.value not in {row["verdict"] for row in ROWS}


def test_real_jobs_share_their_runtimes() -> None:
    found = []
    for number, row in enumerate(ROWS):
        obj = job(CASES[row["case"]])
        obj["metadata"]["name"] = f"job-{number}"
        found.append(judged(v1_job(obj), Options(Target.V2_3)))
    conversions, runtimes = shared(found)
    own = [each for each in conversions if not each.runtime_is_shared]
    assert 3 * (len(runtimes) + len(own)) <= len(ROWS), "one runtime for three jobs at most"
