"""Names, labels and host names that only v1 has: written anew where v2 has the same, else noted at their line."""

from __future__ import annotations

from typing import Any

import pytest
from unit_tests.migration.conversions import INDEX, converted, pod, pytorch, variables

from training_migration.convert.conversion import Conversion
from training_migration.findings import Finding, Verdict

Json = dict[str, Any]
NAME = {"fieldRef": {"fieldPath": "metadata.name"}}


def label(name: str) -> Json:
    return {"fieldRef": {"fieldPath": f"metadata.labels['training.kubeflow.org/{name}']"}}


def workers(script: str = "torchrun t.py", *, master: bool = False, env: list[Json] | None = None) -> Conversion:
    return converted(pytorch(2, master=master, command=["bash", "-c", script], env=env or []))


def script(conversion: Conversion) -> str:
    text: str = pod(conversion)["containers"][0]["command"][2]
    return text


def findings_of(conversion: Conversion, rule: str) -> list[Finding]:
    return [each for each in conversion.findings if each.rule.id == rule]


def test_names_of_the_jobs_own_pods_are_those_of_v2() -> None:
    conversion = workers("accelerate launch --main_process_ip=job-worker-0 --log=job-worker-10 t.py", master=True)
    assert "--main_process_ip=job-node-0-1.job --log=job-worker-10" in script(conversion)
    assert [each.fixed for each in findings_of(conversion, "MIG107")] == [True, False]
    values = workers(env=[{"name": "PEER", "value": "tcp://job-worker-1.team.svc:80"}])
    assert variables(pod(values)["containers"][0])["PEER"] == "tcp://job-node-0-1.job.team.svc:80"


@pytest.mark.parametrize(
    "expression",
    [
        "$(hostname | cut -d- -f3)",
        "$(hostname | cut -d'-' -f3-)",
        "${HOSTNAME##*-}",
        "$(hostname | awk -F- '{print $NF}')",
        "$(echo $HOSTNAME | sed 's/.*-//')",
    ],
)
def test_a_rank_in_the_host_name_is_the_index(expression: str) -> None:
    conversion = workers(f"composer --node_rank {expression} t.py")
    assert script(conversion) == "composer --node_rank $JOB_COMPLETION_INDEX t.py"
    assert [each.fixed for each in findings_of(conversion, "MIG107")] == [True]


@pytest.mark.parametrize(
    ("expression", "master"), [("$(hostname | cut -d- -f3)", True), ("$(hostname | cut -d- -f2)", False)]
)
def test_where_the_number_would_be_another_one_a_finding_says_so(expression: str, master: bool) -> None:
    conversion = workers(f"composer --node_rank {expression} t.py", master=master)
    assert expression in script(conversion)
    [finding] = findings_of(conversion, "MIG107")
    assert (finding.fixed, finding.path.endswith("containers[pytorch].command")) == (False, True)


def test_labels_of_v1_are_read_from_what_v2_has() -> None:
    names = ("replica-index", "replica-type", "job-name")
    env = variables(pod(workers(env=[{"name": name, "valueFrom": label(name)} for name in names]))["containers"][0])
    assert env["replica-index"] == INDEX
    assert env["replica-type"] == "worker"
    assert env["job-name"] == {"fieldRef": {"fieldPath": "metadata.labels['jobset.sigs.k8s.io/jobset-name']"}}


def test_an_index_that_v2_counts_otherwise_is_reported() -> None:
    conversion = workers(master=True, env=[{"name": "I", "valueFrom": label("replica-index")}])
    [finding] = findings_of(conversion, "MIG401")
    assert not finding.fixed
    assert (
        finding.path
        == "spec.pytorchReplicaSpecs[Worker].template.spec.containers[pytorch].env[I].valueFrom.fieldRef.fieldPath"
    )
    assert conversion.verdict is Verdict.NEEDS_WORK


def test_selectors_follow_the_label_of_the_job() -> None:
    obj = pytorch(2, master=False)
    term = {"topologyKey": "zone", "labelSelector": {"matchLabels": {"training.kubeflow.org/job-name": "job"}}}
    rule = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    obj["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]["spec"]["affinity"] = rule
    conversion = converted(obj)
    assert "'jobset.sigs.k8s.io/jobset-name': 'job'" in str(pod(conversion)["affinity"])
    assert [each.fixed for each in findings_of(conversion, "MIG401")] == [True]


def test_the_name_of_a_pod_is_no_address() -> None:
    conversion = workers("torchrun --local_addr=$POD t.py", env=[{"name": "POD", "valueFrom": NAME}])
    env = variables(pod(conversion)["containers"][0])
    assert env == {"NODE_INDEX": INDEX, "POD": "job-node-0-$(NODE_INDEX).job"}
    assert list(env) == ["NODE_INDEX", "POD"], "a value can only name what comes before it"
    other = workers("echo $POD; torchrun t.py", env=[{"name": "POD", "valueFrom": NAME}])
    assert variables(pod(other)["containers"][0]) == {"POD": NAME}


def test_annotations_by_which_other_tools_act_on_v1_are_reported_at_their_line() -> None:
    obj = pytorch(1)
    obj["metadata"]["annotations"] = {"sagemaker.amazonaws.com/enable-job-auto-resume": "true", "mine": "x"}
    conversion = converted(obj)
    [finding] = findings_of(conversion, "MIG314")
    assert finding.path == "metadata.annotations[sagemaker.amazonaws.com/enable-job-auto-resume]"
    assert conversion.verdict is Verdict.EQUIVALENT
