"""One job of each kind as it is converted, and what v2 makes of it."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml

from training_migration.targets import Target
from training_migration.v2.process import environment
from training_migration.v2.render import render_v2

WORKED = sorted(Path(__file__).with_name("worked").glob("*.yaml"))


@pytest.mark.parametrize("path", WORKED, ids=lambda path: path.stem)
def test_worked_conversion(path: Any) -> None:
    runtime, train_job, expected = yaml.safe_load_all(path.read_text())
    rendering = render_v2(train_job, runtime, Target.V2_3)
    assert [f"{each['kind']} {each['metadata']['name']}" for each in rendering.objects] == expected["objects"]
    assert [pod.hostname for pod in rendering.pods] == expected["pods"]
    assert {pod.container for pod in rendering.pods} == {expected["container"]}
    pods = {pod.hostname: pod for pod in rendering.pods}
    assert {host: environment(pods[host]) for host in expected["environment"]} == expected["environment"]


@pytest.mark.parametrize("path", WORKED, ids=lambda path: path.stem)
def test_the_same_is_predicted_again_and_what_was_given_stays(path: Any) -> None:
    runtime, train_job, _ = yaml.safe_load_all(path.read_text())
    given = deepcopy((runtime, train_job))
    first, second = (render_v2(train_job, runtime, Target.V2_3) for _ in range(2))
    assert first == second
    assert (runtime, train_job) == given
    for pod in first.pods:
        pod.pod["spec"].clear()
    assert [each.pod for each in first.pods] != [each.pod for each in second.pods]
    assert first.objects == second.objects


def test_all_six_kinds_are_there() -> None:
    assert [path.stem for path in WORKED] == ["jax", "mpi", "paddle", "pytorch", "tensorflow", "xgboost"]
