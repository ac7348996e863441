"""The rules in Python give the verdicts of the table that the API server is tested with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from e2e.support.admission import Admission, admissions
from e2e.support.paths import ROOT

from training_api.problems import Problem, ProblemKind
from training_api.registry import KINDS, PYTORCH
from training_api.validation import problems

CASES = sorted((ROOT / "e2e" / "conformance" / "cases").glob("*.yaml"))


@pytest.mark.parametrize("admission", [a for a in admissions() if not a.api_only], ids=str)
def test_verdict(admission: Admission) -> None:
    found = problems(admission.info, admission.job)
    assert bool(found) == bool(admission.field), found
    if found:
        text = "\n".join(str(problem) for problem in found)
        field, words = admission.field, admission.says.partition(": ")[2] or admission.says
        assert any(problem.path.startswith(field) for problem in found), text
        assert words in text


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_recorded_verdict_of_v1(path: Path) -> None:
    case = yaml.load(path.read_text(), yaml.CSafeLoader)
    assert bool(problems(KINDS[case["job"]["kind"]], case["job"])) == case.get("reject", False)


def test_an_empty_manager_that_is_stored_means_ours() -> None:
    job: dict[str, Any] = {"metadata": {"name": "a"}, "spec": {"jaxReplicaSpecs": {}, "runPolicy": {"managedBy": ""}}}
    assert problems(KINDS["JAXJob"], job) == []


def test_all_problems_are_found_in_the_order_of_the_checks() -> None:
    template = {"spec": {"containers": [{"name": "main"}]}}
    job = {
        "metadata": {"name": "0-test"},
        "spec": {
            "runPolicy": {"managedBy": "me"},
            "elasticPolicy": {},
            "pytorchReplicaSpecs": {"Master": {"replicas": 2, "template": template}, "Chief": {}},
        },
    }
    assert [str(problem) for problem in problems(PYTORCH, job)] == [
        'metadata.name: Invalid value: "0-test": should match: a DNS-1035 label consists of lower case letters, digits '
        "and '-', begins with a letter, and ends with a letter or a digit",
        'spec.runPolicy.managedBy: Unsupported value: "me": supported values: "kubeflow.org/training-operator", '
        '"kueue.x-k8s.io/multikueue"',
        'spec.pytorchReplicaSpecs[Chief]: Unsupported value: "Chief": supported values: "Master", "Worker"',
        "spec.pytorchReplicaSpecs[Master].replicas: Forbidden: must be 1",
        "spec.pytorchReplicaSpecs[Master].template.spec.containers[0].image: Required value: must be required: "
        "every container needs an image",
        "spec.pytorchReplicaSpecs[Master].template.spec.containers: Required value: must have at least one container "
        "with name pytorch",
        "spec.pytorchReplicaSpecs[Worker]: Required value: must be configured if elastic policy is used",
    ]


def test_an_object_that_cannot_be_read_has_that_one_problem() -> None:
    assert problems(PYTORCH, {"metadata": {"name": "a"}, "spec": {}}) == [
        Problem("spec.pytorchReplicaSpecs", ProblemKind.REQUIRED, "must be required")
    ]
