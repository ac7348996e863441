"""What `convert` writes has nothing that lint finds wrong with it, and what v2 ships has neither."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import pytest
import yaml
from e2e.support.paths import ROOT
from e2e.support.profiles import tries
from hypothesis import HealthCheck, Phase, assume, given, settings
from unit_tests.migration.conversions import jax, template
from unit_tests.migration.test_convert_any import OPTIONS, jobs

from training_api.documents import Document
from training_migration.choices import CompatEnv
from training_migration.convert import convert
from training_migration.convert.conversion import Options
from training_migration.convert.sharing import shared
from training_migration.findings import Severity
from training_migration.lint import lint_together, lint_v2
from training_migration.shape import misfit
from training_migration.targets import Target
from training_migration.v1_job import Invalid, v1_job
from training_migration.v2.stock import stock

EXAMPLES = ROOT / "e2e" / "support" / "v1_examples"
KINDS = {
    "jax": "JAXJob",
    "mpi": "MPIJob",
    "paddlepaddle": "PaddleJob",
    "pytorch": "PyTorchJob",
    "tensorflow": "TFJob",
    "xgboost": "XGBoostJob",
}
UNKNOWN = {"MIG112"}
"""Of images whose entry point is not given."""
ELASTIC_HOROVOD = {"MIG115", "MIG211"}
"""It finds its hosts by a script of v1's operator: there is nothing to convert it to."""


def examples() -> list[Any]:
    return [
        pytest.param(
            {"apiVersion": "kubeflow.org/v1", "kind": KINDS[file.stem], **each["job"]}, id=f"{file.stem}-{number}"
        )
        for file in sorted(EXAMPLES.glob("*.yaml"))
        for number, each in enumerate(yaml.load(file.read_text(), yaml.CSafeLoader))
    ]


@pytest.mark.parametrize("given", examples())
def test_conversions_of_v1s_examples_are_without_findings(given: dict[str, Any]) -> None:
    conversion = convert(v1_job(given), Options(Target.V2_3))
    documents = [Document("v2.yaml", 1, each) for each in conversion.objects]
    assert not any(misfit(each) for each in conversion.objects)
    found = [*lint_v2(documents, Target.V2_3), *lint_together(documents, Target.V2_3)]
    elastic = given["metadata"]["name"] == "tensorflow-mnist-elastic"
    assert {each.rule.id for each in found} - UNKNOWN == (ELASTIC_HOROVOD if elastic else set())


def test_runtimes_that_the_examples_share_are_without_findings() -> None:
    without_ports = {
        name: {"template": template("xgboost", command=["python", "t.py"])} for name in ("Master", "Worker")
    }
    plain = {**jax(), "kind": "XGBoostJob", "spec": {"xgbReplicaSpecs": without_ports}}
    jobs = [copy.deepcopy(each) for each in (*(each.values[0] for each in examples()), plain, plain)]
    for number, each in enumerate(jobs):
        each["metadata"]["name"] = f"job-{number}"
    conversions, runtimes = shared([convert(v1_job(each), Options(Target.V2_3)) for each in jobs])
    objects = [*runtimes, *(each for conversion in conversions for each in conversion.objects)]
    documents = [Document(f"{number}.yaml", 1, each) for number, each in enumerate(objects)]
    found = lint_v2(documents, Target.V2_3)
    assert {each.rule.id for each in found} - UNKNOWN - ELASTIC_HOROVOD == set()


@settings(max_examples=tries(30), phases=[Phase.generate], suppress_health_check=list(HealthCheck))
@given(jobs(), OPTIONS)
def test_conversions_of_any_job_have_nothing_that_lint_calls_an_error(obj: dict[str, Any], options: Options) -> None:
    try:
        job = v1_job(obj)
    except Invalid:
        assume(False)
        return
    conversion = convert(job, replace(options, compat_env=CompatEnv.AUTO))
    documents = [Document("v2.yaml", 1, each) for each in conversion.objects]
    found = [] if conversion.rejected else lint_v2(documents, options.target)
    wrong = {each.rule.id for each in found if each.level is Severity.ERROR}
    # torchrun is no launcher for what the other policies are for, and cannot become one.
    assert wrong <= (set() if obj["kind"] == "PyTorchJob" else {"MIG101"})


@pytest.mark.parametrize("target", list(Target))
def test_the_runtimes_that_v2_ships_are_without_findings(target: Target) -> None:
    documents = [Document(f"{name}.yaml", 1, each) for name, each in stock(target).items()]
    assert documents
    assert [each for each in lint_v2(documents, target) if each.level is not Severity.INFO] == []
