"""The policies for jax and xgboost, none at all, and the groups of pods."""

from __future__ import annotations

from typing import Any

import pytest
from unit_tests.migration.v2.written import container, objects, rendered, replicated_job, runtime, train_job, variables

from training_migration.targets import Target
from training_migration.v2.denied import Denied, NotPredicted

INDEX = "metadata.annotations['batch.kubernetes.io/job-completion-index']"
PORT = [{"containerPort": 29500, "protocol": "TCP"}]


def test_jax() -> None:
    pod = rendered(train_job({"numNodes": 3}), runtime({"jax": {}})).pods[0]
    found = variables(pod)
    assert list(found) == ["JAX_NUM_PROCESSES", "JAX_PROCESS_ID", "JAX_COORDINATOR_ADDRESS", "JOB_COMPLETION_INDEX"]
    assert list(found.values())[:3] == ["3", INDEX, "job-node-0-0.job:29500"]
    assert pod.pod["spec"]["containers"][0]["ports"] == PORT


def test_a_value_of_the_train_job_wins_over_what_jax_sets() -> None:
    trainer = {"env": [{"name": "JAX_NUM_PROCESSES", "value": "7"}, {"name": "OWN"}]}
    found = variables(rendered(train_job(trainer), runtime({"jax": {}})).pods[0])
    assert (found["JAX_NUM_PROCESSES"], found["OWN"]) == ("7", "")


@pytest.mark.parametrize(
    ("resources", "workers"),
    [({}, "2"), ({"limits": {"nvidia.com/gpu": "4"}}, "8"), ({"limits": {"nvidia.com/mig-1g.5gb": 4}}, "2")],
)
def test_xgboost_counts_workers_by_gpu(resources: Any, workers: int) -> None:
    job = replicated_job("node", container(resources=resources))
    pod = rendered(train_job({}), runtime({"numNodes": 2, "xgboost": {}}, job)).pods[0]
    found = variables(pod)
    assert found.pop("JOB_COMPLETION_INDEX")
    assert found == {
        "DMLC_TRACKER_URI": "job-node-0-0.job",
        "DMLC_TRACKER_PORT": "29500",
        "DMLC_TASK_ID": INDEX,
        "DMLC_NUM_WORKER": workers,
    }
    assert pod.pod["spec"]["containers"][0]["ports"] == PORT


def test_xgboost_reserves_its_variables() -> None:
    with pytest.raises(Denied, match="DMLC_TASK_ID is set by"):
        rendered(train_job({"env": [{"name": "DMLC_TASK_ID", "value": "1"}]}), runtime({"xgboost": {}}))


@pytest.mark.parametrize("policy", ["jax", "xgboost", "torch"])
def test_without_a_trainer_block_nothing_is_given(policy: Any) -> None:
    pod = rendered(train_job(None), runtime({policy: {}})).pods[0]
    assert set(variables(pod)) == {"JOB_COMPLETION_INDEX"}


def test_plain_counts_nodes_and_sets_variables_and_no_port() -> None:
    trainer = {"numNodes": 3, "env": [{"name": "A", "value": "1"}]}
    for policy in (None, {}, {"numNodes": 2}):
        rendering = rendered(train_job(trainer), runtime(policy))
        assert len(rendering.pods) == 3
        assert variables(rendering.pods[2])["A"] == "1"
        assert "ports" not in rendering.pods[0].pod["spec"]["containers"][0]


@pytest.mark.parametrize(
    ("policy", "ancestor", "parallelism", "pods"),
    [
        (None, "trainer", 3, 3),
        ({}, "trainer", 3, 1),
        ({"numNodes": 2}, "trainer", 3, 2),
        ({"numNodes": 2}, "", 3, 3),
        (None, "", None, 1),
        ({"numNodes": 0}, "trainer", 3, 1),
    ],
)
def test_how_many_pods_a_replicated_job_has(policy: Any, ancestor: Any, parallelism: Any, pods: int) -> None:
    job = replicated_job("node", ancestor=ancestor)
    if parallelism is not None:
        job["template"]["spec"]["parallelism"] = parallelism
    rendering = rendered(train_job(None), runtime(policy, job))
    assert len(rendering.pods) == pods
    (made,) = objects(rendering, "Job")
    assert (made["spec"]["parallelism"], made["spec"]["completions"]) == (pods, pods)


def two_jobs() -> Any:
    resources = {"requests": {"cpu": "500m"}, "limits": {"cpu": 2, "memory": "1Gi"}}
    look = container("look", resources={"requests": {"cpu": "3"}})
    beside = container("beside", resources={"requests": {"memory": "1Mi"}}, restartPolicy="Always")
    pod = {"initContainers": [beside, look], "priorityClassName": "high"}
    return [
        replicated_job("first", container(resources=resources), ancestor=""),
        replicated_job("node", container(resources=resources), pod=pod),
    ]


def test_coscheduling_waits_for_all_pods() -> None:
    rendering = rendered(train_job({"numNodes": 2}), runtime({}, *two_jobs(), podGroupPolicy={"coscheduling": {}}))
    (group,) = objects(rendering, "PodGroup")
    assert group["apiVersion"] == "scheduling.x-k8s.io/v1alpha1"
    assert group["metadata"]["name"] == "job"
    # Limits do not count: 0.5 + 2 * max(0.5, 3), and the sidecar's memory.
    assert group["spec"] == {
        "minMember": 3,
        "minResources": {"cpu": "6500m", "memory": "2Mi"},
        "scheduleTimeoutSeconds": 60,
    }
    assert {pod.pod["metadata"]["labels"]["scheduling.x-k8s.io/pod-group"] for pod in rendering.pods} == {"job"}
    assert all("schedulerName" not in pod.pod["spec"] for pod in rendering.pods)


def test_volcano_takes_queue_and_priority_from_the_template() -> None:
    template = {"metadata": {"annotations": {"scheduling.volcano.sh/queue-name": "gold"}}}
    policy = {"volcano": {"networkTopology": {"highestTierAllowed": 2}}}
    rendering = rendered(train_job({}), runtime({}, *two_jobs(), template=template, podGroupPolicy=policy))
    (group,) = objects(rendering, "PodGroup")
    assert group["apiVersion"] == "scheduling.volcano.sh/v1beta1"
    assert group["spec"] == {
        "minMember": 2,
        "minResources": {"cpu": "3500m", "memory": "1Mi"},
        "queue": "gold",
        "priorityClassName": "high",
        "networkTopology": {"mode": "hard", "highestTierAllowed": 2},
    }
    assert {pod.pod["metadata"]["annotations"]["scheduling.k8s.io/group-name"] for pod in rendering.pods} == {"job"}


def test_volcano_rejects_an_empty_queue() -> None:
    template = {"metadata": {"annotations": {"scheduling.volcano.sh/queue-name": ""}}}
    with pytest.raises(Denied, match="queue's name must not be empty"):
        rendered(train_job({}), runtime({}, template=template, podGroupPolicy={"volcano": {}}))


def test_flux_is_not_predicted() -> None:
    with pytest.raises(NotPredicted, match="flux"):
        rendered(train_job({}), runtime({"flux": {}}))


@pytest.mark.parametrize("policy", ["jax", "xgboost", "flux"])
def test_policies_of_2_2_do_not_exist_before(policy: Any) -> None:
    with pytest.raises(Denied, match=r"Trainer 2\.1 has no such policy") as denied:
        rendered(train_job({}), runtime({policy: {}}), Target.V2_1)
    assert not isinstance(denied.value, NotPredicted)
