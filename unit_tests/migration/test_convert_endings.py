"""Which pods end a job: those that v1 lets run on are not cut off, and where pods are, a finding says so."""

from __future__ import annotations

from typing import Any

import pytest
from unit_tests.migration.conversions import converted, job_set, pytorch, replicated_job
from unit_tests.migration.conversions import tensorflow as of_tensorflow

from training_migration.convert.conversion import Conversion
from training_migration.findings import Finding, Severity, Verdict

Json = dict[str, Any]


def tensorflow(policy: str | None, **counts: int) -> Json:
    obj = of_tensorflow(counts)
    if policy is not None:
        obj["spec"]["runPolicy"] = {"cleanPodPolicy": policy}
    return obj


def finding(conversion: Conversion) -> Finding:
    return next(each for each in conversion.findings if each.rule.id == "MIG308")


def messages(conversion: Conversion) -> list[str]:
    return [each.message for each in conversion.findings if each.rule.id == "MIG308"]


@pytest.mark.parametrize("policy", [None, {"cleanPodPolicy": "None"}])
@pytest.mark.parametrize("master", [True, False])
def test_nodes_of_one_program_are_all_waited_for(policy: Json | None, master: bool) -> None:
    obj = pytorch(2, master=master, policy=policy, command=["torchrun", "--nnodes=2", "t.py"])
    if not master:
        obj["spec"]["elasticPolicy"] = {"minReplicas": 2, "maxReplicas": 2}
    conversion = converted(obj)
    assert "successPolicy" not in replicated_job(conversion)["template"]["spec"]
    assert "successPolicy" not in job_set(conversion)
    assert (finding(conversion).level, finding(conversion).fixed) == (Severity.INFO, False)
    assert "the others run on" in finding(conversion).message


@pytest.mark.parametrize("policy", ["Running", "All"])
def test_where_v1_deletes_pods_v2_does_and_it_is_reported(policy: str) -> None:
    conversion = converted(pytorch(2, policy={"cleanPodPolicy": policy}))
    assert replicated_job(conversion)["template"]["spec"]["successPolicy"] == {"rules": [{"succeededIndexes": "0"}]}
    assert finding(conversion).fixed
    assert f"are deleted then, as by cleanPodPolicy {policy}" in finding(conversion).message


def test_a_master_of_its_own_is_waited_for_with_its_workers() -> None:
    obj = pytorch(2)
    obj["spec"]["pytorchReplicaSpecs"]["Master"]["template"]["spec"]["containers"][0]["image"] = "example.com/other:1"
    assert "successPolicy" not in job_set(converted(obj))
    obj["spec"]["runPolicy"] = {"cleanPodPolicy": "Running"}
    assert job_set(converted(obj))["successPolicy"]["targetReplicatedJobs"] == ["master"]


def test_servers_that_never_end_are_cut_off_and_that_is_no_exact_conversion() -> None:
    conversion = converted(tensorflow(None, Worker=2, PS=1))
    assert job_set(conversion)["successPolicy"] == {"operator": "All", "targetReplicatedJobs": ["worker"]}
    assert "successPolicy" not in replicated_job(conversion, "worker")["template"]["spec"]
    assert "pods of PS are deleted when those of Worker have ended; v1 lets them run on." in messages(conversion)
    assert conversion.verdict is Verdict.EQUIVALENT


def test_an_evaluator_of_the_same_program_is_waited_for() -> None:
    obj = tensorflow("None", Chief=1, Evaluator=1)
    assert "successPolicy" not in job_set(converted(obj))
    evaluator = obj["spec"]["tfReplicaSpecs"]["Evaluator"]["template"]["spec"]["containers"][0]
    evaluator["args"] = ["--forever"]
    assert job_set(converted(obj))["successPolicy"]["targetReplicatedJobs"] == ["chief"]
    assert finding(converted(obj)).level is Severity.WARNING
