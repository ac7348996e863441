from __future__ import annotations

import json
from typing import Any

import pytest
from e2e.support.paths import ROOT

from training_migration.targets import Target
from training_migration.v2.render import render_v2
from training_migration.v2.stock import stock

DEFINITIONS = ROOT / "e2e" / "support" / "definitions" / "trainer"
PUBLISHED = {file.stem: json.loads(file.read_text()) for file in DEFINITIONS.glob("*-distributed.json")}


@pytest.mark.parametrize("name", stock(Target.V2_3))
def test_it_is_what_the_release_ships(name: str) -> None:
    ours = stock(Target.V2_3)[name]
    for job in ours["spec"]["template"]["spec"]["replicatedJobs"]:
        for container in job["template"]["spec"]["template"]["spec"]["containers"]:
            # The tag is set when the manifests are built.
            container["image"] = container["image"].removesuffix(":v2.3.0")
    assert ours == PUBLISHED[name]


def test_none_is_missing() -> None:
    assert set(PUBLISHED) == set(stock(Target.V2_3))


@pytest.mark.parametrize("target", Target)
def test_all_can_be_rendered(target: Any) -> None:
    for name, runtime in stock(target).items():
        job = {
            "metadata": {"name": "job", "namespace": "ns"},
            "spec": {"runtimeRef": {"name": name}, "trainer": {"numNodes": 2, "numProcPerNode": 1}},
        }
        assert render_v2(job, runtime, target).pods


def test_each_call_gives_own_copies() -> None:
    stock(Target.V2_3)["torch-distributed"]["spec"].clear()
    assert stock(Target.V2_3)["torch-distributed"]["spec"]


def test_releases_differ() -> None:
    assert "jax-distributed" not in stock(Target.V2_1)
    jobs = {
        target: [
            each["name"] for each in stock(target)["mlx-distributed"]["spec"]["template"]["spec"]["replicatedJobs"]
        ]
        for target in (Target.V2_2, Target.V2_3)
    }
    assert jobs == {Target.V2_2: ["launcher", "node"], Target.V2_3: ["node", "launcher"]}
