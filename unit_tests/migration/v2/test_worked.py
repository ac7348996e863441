"""One job of each kind as it is converted, and what v2 makes of it."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from training_migration.targets import Target
from training_migration.v2.process import environment
from training_migration.v2.render import render_v2

WORKED = sorted(Path(__file__).with_name("worked").glob("*.yaml"))


@pytest.mark.parametrize("path", WORKED, ids=lambda path: path.stem)
def test_worked_conversion(path):
    runtime, train_job, expected = yaml.safe_load_all(path.read_text())
    rendering = render_v2(train_job, runtime, Target.V2_3)
    assert [f"{each['kind']} {each['metadata']['name']}" for each in rendering.objects] == expected["objects"]
    assert [pod.hostname for pod in rendering.pods] == expected["pods"]
    assert {pod.container for pod in rendering.pods} == {expected["container"]}
    pods = {pod.hostname: pod for pod in rendering.pods}
    assert {host: environment(pods[host]) for host in expected["environment"]} == expected["environment"]


def test_all_six_kinds_are_there():
    assert [path.stem for path in WORKED] == ["jax", "mpi", "paddle", "pytorch", "tensorflow", "xgboost"]
