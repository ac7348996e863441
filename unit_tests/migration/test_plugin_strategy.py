"""The kind of another package whose declaration names a strategy: its jobs move to Trainer v2 like those of the six."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result
from e2e.support.every_kind import PLUGIN
from unit_tests.conftest import Install

from training_api.registry import KINDS
from training_controllers.frameworks.registry import frameworks
from training_migration.cli import migrate
from training_migration.convert import strategy

JOB = str(PLUGIN / "deepspeedjob.yaml")
OTHER = """
from dataclasses import replace
from training_operator_deepspeed import DEEPSPEED
OTHER = replace(DEEPSPEED, migration="no_such_module:plan")
"""


def invoked(verb: str, *arguments: str) -> Result:
    return CliRunner().invoke(migrate, [verb, "--target", "2.3", *arguments, JOB])


@pytest.mark.parametrize("kind", KINDS)
def test_each_of_the_six_names_its_strategy(kind: str) -> None:
    assert callable(strategy(frameworks()[kind]))


def test_it_is_converted_with_the_objects_that_it_needs(install: Install) -> None:
    install()
    done = invoked("convert")
    assert done.exit_code == 0, done.output
    hostfile, runtime, train_job = yaml.load_all(done.stdout, yaml.CSafeLoader)
    assert [each["kind"] for each in (runtime, train_job)] == ["TrainingRuntime", "TrainJob"]
    names = ["deepspeed-sum-worker-0-0.deepspeed-sum", "deepspeed-sum-worker-0-1.deepspeed-sum"]
    assert hostfile["data"]["hostfile"] == "".join(f"{name} slots=2\n" for name in names)


def test_its_pods_on_both_sides_are_compared(install: Install) -> None:
    install()
    done = invoked("diff", "--format", "json")
    assert done.exit_code == 0, done.output
    job: dict[str, Any] = json.loads(invoked("survey", "--format", "json").stdout)["jobs"][0]
    assert (job["ref"]["kind"], job["verdict"]) == ("DeepSpeedJob", "equivalent")


def test_the_probe_says_that_it_does_not_know_the_programs(install: Install) -> None:
    install()
    done = invoked("probe")
    why = "Error: probe does not know what the programs of a DeepSpeedJob read their ranks from.\n"
    assert (done.exit_code, done.stderr) == (4, why)


def test_a_strategy_that_cannot_be_loaded_is_no_strategy(install: Install) -> None:
    install(entry="other_deepspeed:OTHER", module=OTHER)
    done = invoked("convert")
    assert "no_such_module:plan, the strategy of DeepSpeedJob, cannot be loaded: No module named" in done.stderr
    assert done.exit_code != 0


def test_a_strategy_whose_import_fails_is_none_either(install: Install) -> None:
    install("z-other", "failing_strategy:X", "raise RuntimeError('no GPU')")
    install(entry="failing_deepspeed:OTHER", module=OTHER.replace("no_such_module", "failing_strategy"))
    done = invoked("convert")
    assert "failing_strategy:plan, the strategy of DeepSpeedJob, cannot be loaded: no GPU." in done.stderr
    assert (done.exit_code, "Traceback" in done.output) == (4, False)
