"""The life cycle as situations: what v1's own rules decide, and what JobSet and Jobs do."""

from __future__ import annotations

from typing import Any

import pytest
from unit_tests.migration.conversions import jax, pytorch
from unit_tests.migration.diff.renderings import compared, converted, item, items, naive, worked

from training_migration.diff.model import Difference, Item, Likeness
from training_migration.findings import Severity

Json = dict[str, Any]
UNLIMITED = "the container starts again, without limit"
SUCCESS = "for the job to succeed"


def restarting(policy: str, **run_policy: Any) -> Json:
    obj = pytorch(1, policy=run_policy)
    for replica in obj["spec"]["pytorchReplicaSpecs"].values():
        replica["restartPolicy"] = policy
    return obj


def job_spec(runtime: Json) -> Json:
    spec: Json = runtime["spec"]["template"]["spec"]["replicatedJobs"][0]["template"]["spec"]
    return spec


def failure(difference: Difference, code: int = 1) -> Item:
    return item(difference, f"if master 0 ends with {code}")


@pytest.mark.parametrize(
    ("policy", "run_policy", "v1"),
    [
        ("OnFailure", {}, UNLIMITED),
        ("Always", {}, UNLIMITED),
        ("OnFailure", {"backoffLimit": 3},
         "the container starts again; the job fails at 3 restarts of all pods together"),
        ("OnFailure", {"backoffLimit": 0}, "the job fails"),
        ("Never", {}, "the job fails"),
        ("Never", {"backoffLimit": 3}, "the job fails"),
        ("ExitCode", {}, "the job fails"),
    ],
)  # fmt: skip
def test_our_conversion_ends_at_the_same_point(policy: str, run_policy: Json, v1: str) -> None:
    found = failure(compared(*converted(restarting(policy, **run_policy))))
    assert found.v1 == v1
    assert found.severity in (None, Severity.INFO), found


def test_without_a_limit_of_its_own_a_job_fails_at_six_restarts() -> None:
    found = failure(compared(*naive(restarting("OnFailure"), nodes=2)))
    assert (found.v1, found.v2) == (UNLIMITED, "the container starts again; the job fails at 6 restarts")
    assert (found.verdict, found.severity) == (Likeness.DIFFERENT, Severity.WARNING)


def test_a_naive_conversion_of_never_retries() -> None:
    found = failure(compared(*naive(restarting("Never"), nodes=2)))
    assert (found.v1, found.severity) == ("the job fails", Severity.WARNING)


def test_retried_exit_codes_are_a_situation_of_their_own() -> None:
    job, runtime, train_job = converted(restarting("ExitCode"))
    same = compared(job, runtime, train_job)
    assert failure(same, 137).v2 == "a new pod comes, without limit"
    assert failure(same, 137).severity is None
    del job_spec(runtime)["podFailurePolicy"]
    broken = compared(job, runtime, train_job)
    assert (failure(broken).v1, failure(broken).v2) == ("the job fails", "a new pod comes, without limit")
    assert failure(broken).severity is Severity.WARNING
    assert items(compared(*converted(restarting("Never"))), "if master 0 ends with 137") == []


@pytest.mark.parametrize(
    ("rule", "v2"),
    [
        ({"action": "FailJob", "onExitCodes": {"operator": "In", "values": [1]}}, "the job fails"),
        ({"action": "FailJob", "onExitCodes": {"operator": "NotIn", "values": [1]}}, UNLIMITED),
        ({"action": "FailJob", "onExitCodes": {"containerName": "other", "operator": "In", "values": [1]}}, UNLIMITED),
        ({"action": "Ignore", "onExitCodes": {"operator": "In", "values": [1]}}, "a new pod comes, without limit"),
        ({"action": "FailJob", "onPodConditions": [{"type": "DisruptionTarget"}]}, UNLIMITED),
    ],
)
def test_rules_on_exit_codes_are_followed(rule: Json, v2: str) -> None:
    job, runtime, train_job = converted(restarting("OnFailure"))
    job_spec(runtime)["podFailurePolicy"] = {"rules": [rule]}
    assert failure(compared(job, runtime, train_job)).v2 == v2


def test_a_jobset_that_starts_over_is_reported() -> None:
    job, runtime, train_job = converted(restarting("Never"))
    runtime["spec"]["template"]["spec"]["failurePolicy"] = {"maxRestarts": 2}
    found = failure(compared(job, runtime, train_job))
    assert (found.v2, found.severity) == ("all pods start again, at most 2 times", Severity.WARNING)


def test_always_starts_again_after_success() -> None:
    found = item(compared(*converted(restarting("Always"))), "if master 0 ends with 0")
    assert (found.v1, found.severity) == ("the container starts again", Severity.WARNING)


def success(difference: Difference) -> tuple[str, str, Severity | None]:
    found = item(difference, SUCCESS)
    return found.v1, found.v2, found.severity


def test_the_pods_that_decide_on_success_are_those_of_v1s_own_rules() -> None:
    assert success(compared(*converted(pytorch(2)))) == ("master 0", "all pods have to", Severity.INFO)
    tidied = pytorch(2, policy={"cleanPodPolicy": "Running"})
    assert success(compared(*converted(tidied))) == ("master 0", "node 0", None)
    assert success(compared(*naive(pytorch(2), nodes=3)))[:2] == ("master 0", "all pods have to")
    assert success(compared(*converted(pytorch(2, master=False)))) == ("all pods have to", "all pods have to", None)
    assert success(compared(*converted(jax(2)))) == ("all pods have to", "all pods have to", None)
    assert success(compared(*worked("mpi"))) == ("launcher 0", "launcher 0", None)
    assert success(compared(*worked("tensorflow"))) == ("chief 0", "chief 0", None)


def test_any_worker_of_an_elastic_job_is_enough() -> None:
    obj = pytorch(3, master=False, command=["torchrun", "train.py"])
    obj["spec"]["elasticPolicy"] = {"minReplicas": 3, "maxReplicas": 3, "rdzvBackend": "c10d"}
    obj["spec"]["runPolicy"] = {"cleanPodPolicy": "Running"}
    assert success(compared(*converted(obj))) == ("one pod is enough", "one pod is enough", None)


@pytest.mark.parametrize(
    ("rule", "v2"),
    [
        ({"succeededIndexes": "0-1"}, "node 0, 1"),
        ({"succeededIndexes": "1,2", "succeededCount": 1}, "one of node 1, 2 is enough"),
        ({"succeededCount": 1}, "one pod is enough"),
    ],
)
def test_success_policies_of_jobs_are_followed(rule: Json, v2: str) -> None:
    job, runtime, train_job = converted(pytorch(2))
    job_spec(runtime)["successPolicy"] = {"rules": [rule]}
    assert success(compared(job, runtime, train_job)) == ("master 0", v2, Severity.WARNING)


DEADLINE = "if the job is active for very long"


def test_a_deadline_stands_on_the_train_job_alone() -> None:
    job, runtime, train_job = converted(restarting("Never", activeDeadlineSeconds=60))
    same = item(compared(job, runtime, train_job), DEADLINE)
    assert (same.v1, same.v2, same.verdict) == ("fails after 60 s", "fails after 60 s", Likeness.EQUIVALENT)
    del train_job["spec"]["activeDeadlineSeconds"]
    lost = item(compared(job, runtime, train_job), DEADLINE)
    assert (lost.v2, lost.severity) == ("runs on", Severity.WARNING)
    job_spec(runtime)["activeDeadlineSeconds"] = 60
    assert item(compared(job, runtime, train_job), DEADLINE).severity is None


@pytest.mark.parametrize(
    ("run_policy", "situation", "v1", "v2", "severity"),
    [
        ({}, "when the job has ended", "all pods stay", "running pods are deleted", Severity.INFO),
        ({"cleanPodPolicy": "Running"}, "when the job has ended", "running pods are deleted",
         "running pods are deleted", None),
        ({"ttlSecondsAfterFinished": 9}, "9 s after the end", "the job is deleted",
         "the TrainJob and its pods stay", Severity.INFO),
        ({"suspend": True}, "when the job is created", "it waits until it is resumed",
         "it waits until it is resumed", None),
        ({"managedBy": "kueue.x-k8s.io/multikueue"}, "who runs the job", "kueue.x-k8s.io/multikueue does",
         "kueue.x-k8s.io/multikueue does", None),
    ],
)  # fmt: skip
def test_the_run_policy_is_reported_as_what_happens(
    run_policy: Json, situation: str, v1: str, v2: str, severity: Severity | None
) -> None:
    found = item(compared(*converted(restarting("Never", **run_policy))), situation)
    assert (found.v1, found.v2, found.severity) == (v1, v2, severity)


def test_a_job_that_waits_on_one_side_only_differs() -> None:
    job, runtime, train_job = converted(restarting("Never", suspend=True))
    train_job["spec"]["suspend"] = False
    assert item(compared(job, runtime, train_job), "when the job is created").severity is Severity.WARNING


def test_a_pod_that_is_deleted_may_be_the_end_on_v2() -> None:
    when = "if a running pod is deleted"
    assert item(compared(*converted(restarting("Never"))), when).severity is Severity.INFO
    assert item(compared(*converted(restarting("OnFailure"))), when).verdict is Likeness.EQUIVALENT
