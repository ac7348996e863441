"""What is predicted of TrainJobs is what the real controllers have built of them (`python -m e2e.migration.record`)."""

from __future__ import annotations

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml

from training_migration.targets import Target
from training_migration.v2.denied import Denied
from training_migration.v2.render import render_v2
from training_migration.v2.stock import stock
from training_migration.verify.differences import differences, expected

Json = dict[str, Any]

FOLDER = Path(__file__).parent
CASES = sorted(file.stem for file in (FOLDER / "recorded").glob("*.json"))
NOT_PREDICTED = {
    "rejected-no-runtime": "only the cluster knows its runtimes",
    "rejected-volcano-priority": "only the cluster knows its classes of priority",
    "rejected-processes-of-torch": "a runtime without a TrainJob",
    "rejected-replicas": "a runtime without a TrainJob",
    "rejected-trainer-without-node": "a runtime without a TrainJob",
    "rejected-two-policies": "a runtime without a TrainJob",
}


def record(case: str) -> Json:
    found: Json = json.loads((FOLDER / "recorded" / f"{case}.json").read_text())
    return found


def given(case: str) -> list[Json]:
    objects = list(yaml.load_all((FOLDER / "given" / f"{case}.yaml").read_text(), yaml.CSafeLoader))
    for each in objects:
        each["metadata"]["namespace"] = case
    return objects


def runtime_of(case: str, objects: list[Json]) -> Json:
    """The runtime that a case's TrainJob refers to: its own, or a stock one."""
    return objects[0] if len(objects) > 1 else stock(Target.V2_3)[objects[-1]["spec"]["runtimeRef"]["name"]]


@pytest.mark.parametrize("case", [case for case in CASES if not case.startswith("rejected-")])
def test_what_is_built_is_predicted(case: Any) -> None:
    objects = given(case)
    rendering = render_v2(objects[-1], runtime_of(case, objects), Target.V2_3)
    assert differences(expected(rendering), record(case)["built"]) == []


def test_the_same_is_predicted_again_and_what_was_given_stays() -> None:
    runtime, train_job = objects = given("torch-patched")
    before = deepcopy(objects)
    first, second = (render_v2(train_job, runtime, Target.V2_3) for _ in range(2))
    assert first == second
    assert objects == before
    for pod in first.pods:
        pod.pod["spec"].clear()
    assert first.objects == second.objects
    assert all(pod.pod["spec"] for pod in second.pods)


@pytest.mark.parametrize("case", [case for case in CASES if case.startswith("rejected-") and case not in NOT_PREDICTED])
def test_what_is_rejected_is_predicted_as_rejected(case: Any) -> None:
    objects = given(case)
    assert set(record(case)) <= {"rejected", "stuck"}
    with pytest.raises(Denied):
        render_v2(objects[-1], runtime_of(case, objects), Target.V2_3)


@pytest.mark.parametrize("case", NOT_PREDICTED)
def test_what_only_a_cluster_rejects_is_rejected_by_it(case: Any) -> None:
    assert "rejected" in record(case)
