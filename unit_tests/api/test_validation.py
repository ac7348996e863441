"""The rules in Python give the verdicts of the table that the API server is tested with."""

from __future__ import annotations

from typing import Any

import yaml
from e2e.support.admission import Admission, admissions
from e2e.support.paths import ROOT

from training_api.problems import Problem, ProblemKind
from training_api.registry import KINDS, PYTORCH
from training_api.validation import problems

CASES = sorted((ROOT / "e2e" / "conformance" / "cases").glob("*.yaml"))


def verdict(admission: Admission) -> str:
    """What is wrong with the rules' verdict on this job; empty if nothing is."""
    found = problems(admission.info, admission.job)
    text = "\n".join(str(problem) for problem in found)
    if bool(found) != bool(admission.field):
        return text or "nothing was found"
    field, words = admission.field, admission.says.partition(": ")[2] or admission.says
    named = not found or (any(problem.path.startswith(field) for problem in found) and words in text)
    return "" if named else f"no {field!r} with {words!r} in:\n{text}"


def test_verdicts() -> None:
    verdicts = {str(each): verdict(each) for each in admissions() if not each.api_only}
    assert len(verdicts) > 200
    assert {name: wrong for name, wrong in verdicts.items() if wrong} == {}


def test_recorded_verdicts_of_v1() -> None:
    for path in CASES:
        case = yaml.load(path.read_text(), yaml.CSafeLoader)
        rejected = bool(problems(KINDS[case["job"]["kind"]], case["job"]))
        assert rejected == case.get("reject", False), path.stem
    assert len(CASES) > 50


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
