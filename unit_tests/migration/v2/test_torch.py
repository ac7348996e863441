from __future__ import annotations

from typing import Any

import pytest
from unit_tests.migration.v2.written import container, rendered, replicated_job, runtime, train_job, variables

from training_migration.targets import Target
from training_migration.v2.denied import Denied, NotPredicted

TORCH = {"numNodes": 2, "torch": {}}
INDEX = "metadata.annotations['batch.kubernetes.io/job-completion-index']"


def test_every_node_gets_what_torchrun_reads() -> None:
    rendering = rendered(train_job({}), runtime(TORCH))
    assert [(pod.role, pod.index, pod.hostname) for pod in rendering.pods] == [
        ("node", 0, "job-node-0-0.job"),
        ("node", 1, "job-node-0-1.job"),
    ]
    assert variables(rendering.pods[1]) == {
        "PET_NNODES": "2",
        "PET_NPROC_PER_NODE": "1",
        "PET_NODE_RANK": INDEX,
        "PET_MASTER_ADDR": "job-node-0-0.job",
        "PET_MASTER_PORT": "29500",
        "JOB_COMPLETION_INDEX": INDEX.replace("annotations", "labels"),
    }


def test_a_train_job_without_a_trainer_block_gets_nothing() -> None:
    pod = rendered(train_job(None), runtime(TORCH)).pods[0]
    assert set(variables(pod)) == {"JOB_COMPLETION_INDEX"}
    assert "ports" not in pod.pod["spec"]["containers"][0]


def test_the_host_of_rank_0_is_called_node_whatever_the_replicated_job_is_called() -> None:
    rendering = rendered(train_job({}), runtime({"torch": {}}, replicated_job("worker")))
    assert variables(rendering.pods[0])["PET_MASTER_ADDR"] == "job-node-0-0.job"
    assert rendering.pods[0].hostname == "job-worker-0-0.job"


@pytest.mark.parametrize(
    ("trainer", "template", "processes"),
    [
        ({"numProcPerNode": 4}, {"limits": {"nvidia.com/gpu": 2}}, "4"),
        ({}, {"limits": {"nvidia.com/gpu": 2}}, "auto"),
        ({}, {"limits": {"amd.com/GPU": "1"}, "requests": {"cpu": "8"}}, "auto"),
        ({}, {"limits": {"nvidia.com/gpu": 0}, "requests": {"cpu": 3}}, "3"),
        ({}, {"limits": {"nvidia.com/mig-1g.5gb": 1}, "requests": {"cpu": "8"}}, "8"),
        ({}, {"requests": {"cpu": "2500m"}, "limits": {"cpu": "6"}}, "3"),
        ({}, {"requests": {"cpu": "0"}, "limits": {"cpu": "6"}}, "6"),
        ({}, {"limits": {"cpu": "100m"}}, "1"),
        ({}, {}, "1"),
        # What the TrainJob states is taken alone, although the pod gets both.
        ({"resourcesPerNode": {"requests": {"cpu": "5"}}}, {"limits": {"nvidia.com/gpu": 2}}, "5"),
    ],
)
def test_processes_of_a_node(trainer: Any, template: Any, processes: Any) -> None:
    job = replicated_job("node", container(resources=template))
    assert variables(rendered(train_job(trainer), runtime(TORCH, job)).pods[0])["PET_NPROC_PER_NODE"] == processes


def test_the_train_job_says_how_many_nodes() -> None:
    assert len(rendered(train_job({"numNodes": 3}), runtime(TORCH)).pods) == 3


def test_an_unnamed_port_is_replaced_and_a_named_one_kept() -> None:
    ports = [{"name": "metrics", "containerPort": 8080}, {"containerPort": 9000}]
    pod = rendered(train_job({}), runtime(TORCH, replicated_job("node", container(ports=ports)))).pods[0]
    assert pod.pod["spec"]["containers"][0]["ports"] == [
        {"name": "metrics", "containerPort": 8080, "protocol": "TCP"},
        {"containerPort": 29500, "protocol": "TCP"},
    ]


def test_variables_come_in_the_order_template_then_trainer_then_policy() -> None:
    job = replicated_job("node", container(env=[{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]))
    trainer = {"env": [{"name": "C", "value": "3"}, {"name": "A", "value": "4"}]}
    found = variables(rendered(train_job(trainer), runtime(TORCH, job)).pods[0])
    assert list(found)[:4] == ["A", "B", "C", "PET_NNODES"]
    assert found["A"] == "4"


def test_sidecars_get_the_variables_only_if_they_are_named() -> None:
    job = replicated_job("node", container(), container("sidecar"), pod={"initContainers": [container("look")]})
    pod = rendered(train_job({}), runtime(TORCH, job)).pods[0]
    assert "PET_NNODES" not in variables(pod, "sidecar")
    injected = {"envInjection": {"targets": [{"jobName": "node", "containerNames": ["sidecar", "look"]}]}}
    pod = rendered(train_job({}), runtime({"torch": injected}, job)).pods[0]
    assert (
        variables(pod, "sidecar")["PET_MASTER_ADDR"] == variables(pod, "look")["PET_MASTER_ADDR"] == "job-node-0-0.job"
    )


def test_rejections() -> None:
    with pytest.raises(Denied, match=r"spec.trainer.env: PET_NNODES is set by the runtime's policy"):
        rendered(train_job({"env": [{"name": "PET_NNODES", "value": "1"}]}), runtime(TORCH))
    injected = {"envInjection": {"targets": [{"jobName": "node", "containerNames": ["other"]}]}}
    with pytest.raises(Denied, match="container other of node"):
        rendered(train_job({}), runtime({"torch": injected}))
    with pytest.raises(Denied, match="no such field"):
        rendered(train_job({}), runtime({"torch": injected}), Target.V2_2)
    with pytest.raises(NotPredicted):
        rendered(train_job({"command": ["tune", "run"]}), runtime(TORCH))
