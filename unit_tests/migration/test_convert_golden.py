"""The golden corpus is what conversions give today, and v2 would take it."""

from __future__ import annotations

import pytest
from unit_tests.migration.golden_corpus import FOLDER, NAMES, conversion, files

from training_migration.v2.render import render_v2
from training_migration.v2.stock import stock


@pytest.mark.parametrize("name", NAMES)
def test_it_is_current(name: str) -> None:
    made = files(name)
    there = {path.name for path in (FOLDER / name).iterdir()} - {"v1.yaml", "options.yaml"}
    assert there == set(made), "python -m unit_tests.migration.golden_corpus"
    for file, text in made.items():
        assert (FOLDER / name / file).read_text() == text, "python -m unit_tests.migration.golden_corpus"


@pytest.mark.parametrize("name", NAMES)
def test_v2_makes_pods_of_it(name: str) -> None:
    result = conversion(name)
    if result.rejected:
        return
    target = result.options.target
    runtime = result.runtime or stock(target)[result.train_job["spec"]["runtimeRef"]["name"]]
    replicas = result.job.job.replicas.values()
    assert len(render_v2(result.train_job, runtime, target).pods) == sum(each.replicas or 0 for each in replicas)
