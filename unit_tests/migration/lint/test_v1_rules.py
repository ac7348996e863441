"""Each rule on jobs of v1 finds what it is for, and does not find what is like it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from unit_tests.migration.lint.jobs import OPTIONS, Json, alike, pytorch, role
from unit_tests.migration.lint.v1_cases import CASES, GPU, PYTHON, SIDECAR, alone

from training_migration.choices import Ttl
from training_migration.convert.conversion import Options
from training_migration.findings import Severity
from training_migration.lint.entry_point import of_dockerfile
from training_migration.lint.v1.lint import lint_v1
from training_migration.lint.v1.subject import V1
from training_migration.targets import Target
from training_migration.v1_job import v1_job


def ids(given: Json, options: Options) -> list[str]:
    return [each.rule.id for each in lint_v1(v1_job(given), options)]


@pytest.mark.parametrize("rule", sorted(CASES))
def test_it_is_found_and_what_is_like_it_is_not(rule: str) -> None:
    yes, no = CASES[rule]
    assert yes and no
    found = [rule in ids(given, options) for given, options in (*yes, *no)]
    assert found == [True] * len(yes) + [False] * len(no)


def test_every_rule_on_jobs_of_v1_is_here() -> None:
    assert V1.rules - CASES.keys() == set()


def one(rule: str, given: Json, options: Options = OPTIONS) -> tuple[str, str, Severity]:
    """Path, message and severity of the only finding of a rule."""
    (found,) = (each for each in lint_v1(v1_job(given), options) if each.rule.id == rule)
    return found.path, found.message, found.level


def test_the_arithmetic_of_a_long_name_is_reported() -> None:
    _, message, _ = one("MIG003", pytorch(metadata={"name": "n" * 50}))
    assert message == (
        "the name has 50 characters and may have 48: a pod's name has 63, of which 15 are for '-node-0-2' and a random"
        " ending."
    )


def test_a_single_pod_that_trains_alone_is_no_error() -> None:
    assert one("MIG101", alone(command=PYTHON))[2] is Severity.WARNING


def test_small_differences_of_templates_are_no_error() -> None:
    path, message, severity = one("MIG201", pytorch(worker=role(2, resources=GPU)))
    assert (path, severity) == ("spec.pytorchReplicaSpecs[Worker].template", Severity.WARNING)
    assert message == "the templates of Master and Worker differ in spec.containers[0].resources."
    assert one("MIG201", pytorch(worker=role(2, image="other")))[2] is Severity.ERROR


def test_a_sidecar_that_reads_variables_is_worse_than_one_that_may() -> None:
    reader = {**SIDECAR, "args": ["--rank=$(RANK)"]}
    path, message, severity = one("MIG220", pytorch(master=role(pod={"containers": [reader]})))
    assert path == "spec.pytorchReplicaSpecs[Master].template.spec.containers[1]"
    assert message == "container tb uses RANK, which v2 gives to node only."
    assert severity is Severity.WARNING
    assert one("MIG220", pytorch(master=role(pod={"containers": [SIDECAR]})))[2] is Severity.INFO


def test_a_kept_time_to_live_is_an_error_where_failed_jobs_start_again() -> None:
    given = pytorch(run={"ttlSecondsAfterFinished": 60})
    assert one("MIG306", given)[2] is Severity.WARNING
    assert one("MIG306", given, replace(OPTIONS, ttl=Ttl.KEEP))[2] is Severity.ERROR
    assert one("MIG306", given, Options(Target.NEXT, ttl=Ttl.KEEP))[2] is Severity.WARNING


def test_scripts_and_the_image_show_what_starts_the_training() -> None:
    given = v1_job(alike(command=["bash", "/app/run.sh"]))
    assert "MIG112" in {each.rule.id for each in lint_v1(given, OPTIONS)}
    for text, rule in (("exec python train.py", "MIG101"), ("accelerate launch train.py", "MIG115")):
        found = {each.rule.id for each in lint_v1(given, OPTIONS, scripts=[("src/run.sh", text)])}
        assert rule in found and "MIG112" not in found
    entry = of_dockerfile('FROM x\nENTRYPOINT ["python"]\nFROM y\nENTRYPOINT ["torchrun"]\nCMD ["train.py"]\n')
    found = {each.rule.id for each in lint_v1(v1_job(alike(command=None)), OPTIONS, entry=entry)}
    assert found.isdisjoint({"MIG101", "MIG112"})
