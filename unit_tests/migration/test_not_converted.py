"""Jobs of kinds without a conversion: every verb says so, and does what it can for the others."""

from __future__ import annotations

import json
from typing import Any

import pytest
from click.testing import CliRunner, Result
from e2e.support.every_kind import PLUGIN
from e2e.support.paths import ROOT
from unit_tests.conftest import Install

from training_migration.cli import migrate

PLUGINS_JOB = str(PLUGIN / "deepspeedjob.yaml")
JAX = str(ROOT / "examples" / "jax" / "jaxjob.yaml")
SAID = "not converted: no strategy for DeepSpeedJob."
PLACED = f"{PLUGINS_JOB}:6: DeepSpeedJob deepspeed-sum: {SAID}"


def invoked(verb: str, *arguments: str) -> Result:
    return CliRunner().invoke(migrate, [verb, "--target", "2.3", *arguments])


def test_a_survey_counts_it_as_work_to_be_done() -> None:
    done = invoked("survey", "--format", "json", PLUGINS_JOB, JAX)
    jobs: list[dict[str, Any]] = json.loads(done.stdout)["jobs"]
    assert [(job["ref"]["name"], job["verdict"], job["reason"]) for job in jobs] == [
        ("deepspeed-sum", "needs-work", SAID),
        ("jax-linear", "exact", ""),
    ]
    assert done.exit_code == 4


def test_why_the_kind_of_an_installed_package_is_unknown_is_said(install: Install) -> None:
    install(entry="broken_kind:X", module="import nothing_like_that")
    (job,) = json.loads(invoked("survey", "--format", "json", PLUGINS_JOB).stdout)["jobs"]
    why = "the framework broken_kind:X of the package training-operator-deepspeed is ignored: ModuleNotFoundError: "
    assert job["reason"] == f"{SAID[:-1]} ({why}No module named 'nothing_like_that')."


def test_lint_finds_it() -> None:
    done = invoked("lint", PLUGINS_JOB)
    assert f"error MIG001: {SAID} [kind]" in done.stdout
    assert done.exit_code == 1


def test_the_others_are_converted() -> None:
    done = invoked("convert", PLUGINS_JOB, JAX)
    assert done.stderr.splitlines()[-2:] == ["Ignored: 1 v1 ConfigMap.", f"Error: {PLACED}"]
    assert "kind: TrainJob" in done.stdout
    assert done.exit_code == 4


@pytest.mark.parametrize(
    ("verb", "options"),
    [("convert", ()), ("diff", ()), ("render", ()), ("verify", ("-n", "team")), ("run", ()), ("probe", ())],
)
def test_a_verb_for_one_job_ends_with_that_sentence(verb: str, options: tuple[str, ...]) -> None:
    done = invoked(verb, *options, PLUGINS_JOB)
    assert done.stderr.splitlines()[-1].removeprefix("Error: ") == PLACED
    assert done.exit_code == 4
