"""JobSet, Jobs, pods and Service around the containers."""

from __future__ import annotations

from hashlib import sha1
from typing import Any

import pytest
from unit_tests.migration.v2.written import container, objects, rendered, replicated_job, runtime, train_job, variables

from training_migration.v2.denied import Denied, NotPredicted
from training_migration.v2.names import DEFAULT_CONTAINER

PREFIX = "jobset.sigs.k8s.io/"


def test_the_jobset_has_the_defaults_of_its_webhook() -> None:
    policy = {
        "failurePolicy": {
            "maxRestarts": 2,
            "rules": [{"action": "FailJobSet"}, {"name": "own", "action": "FailJobSet"}],
        }
    }
    template = {"spec": {"replicatedJobs": [replicated_job()], **policy}}
    (jobset,) = objects(rendered(train_job({}), runtime({}, template=template)), "JobSet")
    spec = jobset["spec"]
    assert spec["successPolicy"] == {"operator": "All"}
    assert spec["startupPolicy"] == {"startupPolicyOrder": "AnyOrder"}
    assert spec["network"] == {"enableDNSHostnames": True, "publishNotReadyAddresses": True}
    assert spec["suspend"] is False
    assert spec["failurePolicy"]["restartStrategy"] == "Recreate"
    assert [rule["name"] for rule in spec["failurePolicy"]["rules"]] == ["failurePolicyRule0", "own"]
    (job,) = spec["replicatedJobs"]
    assert (job["replicas"], job["groupName"]) == (1, "default")
    assert job["template"]["spec"]["completionMode"] == "Indexed"
    assert job["template"]["spec"]["template"]["spec"]["restartPolicy"] == "OnFailure"


def test_labels_of_the_template_go_to_the_jobset_and_those_of_the_train_job_nowhere() -> None:
    job = train_job({})
    job["metadata"]["labels"] = {"own": "1"}
    template = {"metadata": {"labels": {"of": "template"}}}
    rendering = rendered(job, runtime({}, template=template))
    (jobset,) = objects(rendering, "JobSet")
    assert jobset["metadata"]["labels"] == {"of": "template"}
    assert not {"own", "of"} & set(rendering.pods[0].pod["metadata"]["labels"])


def test_jobs_and_pods_are_marked() -> None:
    node = replicated_job()
    node["template"]["metadata"]["annotations"] = {"a": "1"}
    node["template"]["spec"]["template"]["metadata"] = {"labels": {"b": "2"}}
    rendering = rendered(
        train_job({}), runtime(None, replicated_job("look", ancestor="", replicas=2, groupName="g"), node)
    )
    jobs = objects(rendering, "Job")
    assert [job["metadata"]["name"] for job in jobs] == ["job-look-0", "job-look-1", "job-node-0"]
    labels = jobs[1]["metadata"]["labels"]
    marks = {name.removeprefix(PREFIX): text for name, text in labels.items() if name.startswith(PREFIX)}
    assert marks.pop("jobset-uid")
    assert marks == {
        "jobset-name": "job",
        "replicatedjob-name": "look",
        "restart-attempt": "0",
        "replicatedjob-replicas": "2",
        "global-replicas": "3",
        "job-index": "1",
        "job-key": sha1(b"ns/job-look-1").hexdigest(),
        "job-global-index": "1",
        "group-name": "g",
        "group-replicas": "2",
        "job-group-index": "1",
    }
    assert jobs[1]["metadata"]["annotations"] == {name: labels[name] for name in labels if name.startswith(PREFIX)}
    metadata = rendering.pods[2].pod["metadata"]
    assert metadata["labels"]["b"] == "2"
    assert jobs[2]["metadata"]["annotations"]["a"] == "1"
    assert (metadata["labels"][f"{PREFIX}job-global-index"], metadata["labels"][f"{PREFIX}job-group-index"]) == (
        "2",
        "0",
    )


def test_pods_are_named_and_find_each_other() -> None:
    rendering = rendered(train_job({"numNodes": 2}), runtime({}))
    pod = rendering.pods[1].pod
    assert pod["metadata"]["generateName"] == "job-node-0-1-"
    assert pod["metadata"]["name"].startswith("job-node-0-1-") and len(pod["metadata"]["name"]) == 18
    assert (pod["spec"]["hostname"], pod["spec"]["subdomain"]) == ("job-node-0-1", "job")
    for block in ("labels", "annotations"):
        assert pod["metadata"][block]["batch.kubernetes.io/job-completion-index"] == "1"
    assert (
        pod["metadata"]["labels"]["job-name"]
        == pod["metadata"]["labels"]["batch.kubernetes.io/job-name"]
        == "job-node-0"
    )
    (job,) = objects(rendering, "Job")
    selector = job["spec"]["selector"]["matchLabels"]
    assert selector.items() <= pod["metadata"]["labels"].items()
    (service,) = objects(rendering, "Service")
    assert service["metadata"]["name"] == "job"
    assert service["spec"] == {
        "clusterIP": "None",
        "publishNotReadyAddresses": True,
        "selector": {"jobset.sigs.k8s.io/jobset-name": "job"},
    }


def test_a_subdomain_of_the_template_is_used_but_not_for_the_host_of_rank_0() -> None:
    template = {"spec": {"replicatedJobs": [replicated_job()], "network": {"subdomain": "own"}}}
    rendering = rendered(train_job({}), runtime({"torch": {}}, template=template))
    assert objects(rendering, "Service")[0]["metadata"]["name"] == "own"
    assert rendering.pods[0].hostname == "job-node-0-0.own"
    assert variables(rendering.pods[0])["PET_MASTER_ADDR"] == "job-node-0-0.job"


def test_without_host_names_there_is_no_service() -> None:
    template = {"spec": {"replicatedJobs": [replicated_job()], "network": {"enableDNSHostnames": False}}}
    rendering = rendered(train_job({}), runtime({}, template=template))
    assert not objects(rendering, "Service")
    assert rendering.pods[0].hostname == ""
    assert "subdomain" not in rendering.pods[0].pod["spec"]


def test_a_job_without_indexes_has_pods_without_names_or_numbers() -> None:
    node = replicated_job()
    node["template"]["spec"]["completionMode"] = "NonIndexed"
    pod = rendered(train_job({"numNodes": 2}), runtime({}, node)).pods[1]
    assert pod.pod["metadata"]["generateName"] == "job-node-0-"
    assert "hostname" not in pod.pod["spec"] and variables(pod) == {}


def test_the_index_comes_last_unless_the_user_has_one() -> None:
    own = container(env=[{"name": "JOB_COMPLETION_INDEX", "value": "own"}])
    assert variables(rendered(train_job({}), runtime({}, replicated_job("node", own))).pods[0]) == {
        "JOB_COMPLETION_INDEX": "own"
    }


def test_a_suspended_job_is_rendered_with_its_pods() -> None:
    rendering = rendered(train_job({}, suspend=True), runtime({}))
    assert objects(rendering, "JobSet")[0]["spec"]["suspend"] is True
    assert objects(rendering, "Job")[0]["spec"]["suspend"] is True
    assert len(rendering.pods) == 1


def test_the_snapshot_holds_the_runtime() -> None:
    (snapshot,) = objects(rendered(train_job({}), runtime({})), "ConfigMap")
    assert snapshot["metadata"]["name"] == "job-runtime-snapshot"
    assert "kind: TrainingRuntime" in snapshot["data"]["runtime"]


def test_resources_are_written_as_they_are_stored() -> None:
    node = replicated_job("node", container(resources={"limits": {"cpu": 4, "memory": "1024Mi"}}))
    given = {"resourcesPerNode": {"limits": {"cpu": "2000m"}, "requests": {"cpu": 0.5}}}
    pod = rendered(train_job(given), runtime({}, node)).pods[0].pod
    assert pod["spec"]["containers"][0]["resources"] == {
        "limits": {"cpu": "2", "memory": "1Gi"},
        "requests": {"cpu": "500m"},
    }


def test_resources_of_the_train_job_are_ignored_without_a_policy() -> None:
    given = {"resourcesPerNode": {"limits": {"cpu": "2"}}}
    assert "resources" not in rendered(train_job(given), runtime(None)).pods[0].pod["spec"]["containers"][0]


@pytest.mark.parametrize("block", ["image", "command", "args"])
def test_each_part_of_the_trainer_block_replaces_only_itself(block: Any) -> None:
    template: dict[str, Any] = {"image": "i", "command": ["c"], "args": ["a"]}
    given = {"image": "new"} if block == "image" else {block: ["new"]}
    node = replicated_job("node", container(**template), container("sidecar", **template))
    first, sidecar = rendered(train_job(given), runtime({}, node)).pods[0].pod["spec"]["containers"]
    assert {name: first[name] for name in template} == {**template, **given}
    assert {name: sidecar[name] for name in template} == template


def test_initializers_get_their_blocks() -> None:
    mount = container("dataset-initializer", volumeMounts=[{"name": "initializer", "mountPath": "/w"}])
    jobs = [replicated_job("dataset-initializer", mount, ancestor="dataset-initializer"), replicated_job()]
    dataset = {"storageUri": "hf://a/b", "env": [{"name": "A", "value": "1"}], "secretRef": {"name": "s"}}
    pod = rendered(train_job({}, initializer={"dataset": dataset}), runtime({}, *jobs)).pods[0]
    assert pod.container == "dataset-initializer"
    found = variables(pod)
    assert (found["STORAGE_URI"], found["A"]) == ("hf://a/b", "1")
    assert pod.pod["spec"]["containers"][0]["envFrom"] == [{"secretRef": {"name": "s"}}]


@pytest.mark.parametrize(
    ("name", "nodes", "fits"),
    [("a" * 48, 10, True), ("a" * 49, 10, False), ("a" * 48, 11, False), ("a" * 47, 100, True), ("a" * 48, 100, False)],
)
def test_names_must_leave_room_for_those_of_pods(name: str, nodes: int, fits: bool) -> None:
    job = train_job({"numNodes": nodes}, name=name)
    if fits:
        assert rendered(job, runtime({})).pods
        return
    with pytest.raises(Denied, match=f"at most {48 if nodes == 10 else 47} characters fit") as denied:
        rendered(job, runtime({}))
    assert denied.value.path == "metadata.name"


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"replicatedJobs": [replicated_job(dependsOn=[{"name": "x"}])]}, "the first replicated job cannot depend"),
        (
            {"replicatedJobs": [replicated_job("a", ancestor=""), replicated_job(dependsOn=[{"name": "x"}])]},
            "x must come before node",
        ),
        (
            {"replicatedJobs": [replicated_job()], "successPolicy": {"targetReplicatedJobs": ["x"]}},
            "names the replicated job x",
        ),
        ({"replicatedJobs": [replicated_job()], "network": {"subdomain": "A.b"}}, "A.b is no name for a Service"),
        (
            {"replicatedJobs": [replicated_job("node", container(ports=[{"containerPort": 1}, {"containerPort": 2}]))]},
            "writes ports of container node over each other",
        ),
    ],
)
def test_what_jobset_rejects(spec: Any, message: str) -> None:
    with pytest.raises(Denied, match=message):
        rendered(train_job({}), runtime({}, template={"spec": spec}))


def claiming(retention: Any = None, mounted: str = "data") -> Any:
    policy: dict[str, Any] = {"templates": [{"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteMany"]}}]}
    if retention:
        policy["retentionPolicy"] = {"whenDeleted": retention}
    jobs = [
        replicated_job("look", ancestor=""),
        replicated_job("node", container(volumeMounts=[{"name": mounted, "mountPath": "/d"}])),
    ]
    return runtime({}, template={"spec": {"replicatedJobs": jobs, "volumeClaimPolicies": [policy]}})


@pytest.mark.parametrize(("retention", "owned"), [(None, True), ("Delete", True), ("Retain", False)])
def test_volumes_are_claimed_for_the_pods_that_mount_them(retention: Any, owned: bool) -> None:
    rendering = rendered(train_job({}), claiming(retention))
    (claim,) = objects(rendering, "PersistentVolumeClaim")
    assert claim["metadata"]["name"] == "data-job"
    assert claim["metadata"]["labels"] == {f"{PREFIX}jobset-name": "job"}
    assert ("ownerReferences" in claim["metadata"]) is owned
    look, node = (pod.pod["spec"] for pod in rendering.pods)
    assert "volumes" not in look
    assert node["volumes"] == [{"name": "data", "persistentVolumeClaim": {"claimName": "data-job"}}]


def test_a_claim_that_no_container_mounts_is_rejected() -> None:
    with pytest.raises(Denied, match="no container mounts data"):
        rendered(train_job({}), claiming(mounted="other"))


def test_exclusive_placement_is_not_predicted() -> None:
    template = {"metadata": {"annotations": {"alpha.jobset.sigs.k8s.io/exclusive-topology": "rack"}}}
    with pytest.raises(NotPredicted, match="where JobSet puts pods"):
        rendered(train_job({}), runtime({}, template=template))


@pytest.mark.parametrize(("annotations", "expected"), [({}, "first"), ({DEFAULT_CONTAINER: "second"}, "second")])
def test_without_a_node_the_container_for_logs_trains_or_the_first(annotations: dict[str, str], expected: str) -> None:
    job = replicated_job("own", container("first"), container("second"), ancestor="")
    job["template"]["spec"]["template"]["metadata"] = {"annotations": annotations}
    assert rendered(train_job(None), runtime(None, job)).pods[0].container == expected
