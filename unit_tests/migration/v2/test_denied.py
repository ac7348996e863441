"""What Trainer's own admission rejects, apart from policies."""

from __future__ import annotations

from typing import Any

import pytest
from unit_tests.migration.v2.written import container, rendered, replicated_job, runtime, train_job

from training_migration.targets import Target
from training_migration.v2.denied import Denied, NotPredicted


@pytest.mark.parametrize("name", ["", "Job", "1job", "job-", "j.b", "a" * 64])
def test_names(name: str) -> None:
    with pytest.raises(Denied, match=r"^metadata\.name: .*must begin with a letter"):
        rendered(train_job({}, name=name), runtime({}))


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ({"kind": "TrainingRuntime", "name": "other"}, "TrainingRuntime other, which does not exist"),
        ({"name": "rt"}, "ClusterTrainingRuntime rt, which does not exist"),
        ({"kind": "Deployment", "name": "rt"}, "Deployment is no runtime"),
        ({"apiGroup": "apps", "kind": "TrainingRuntime", "name": "rt"}, "apps TrainingRuntime is no runtime"),
    ],
)
def test_references(reference: Any, message: str) -> None:
    with pytest.raises(Denied, match=message):
        rendered(train_job({}, runtimeRef=reference), runtime({}))


def test_a_runtime_of_another_namespace() -> None:
    of = runtime({})
    of["metadata"]["namespace"] = "elsewhere"
    with pytest.raises(Denied, match="rt is in namespace elsewhere, the TrainJob in ns"):
        rendered(train_job({}), of)


def test_a_cluster_runtime_has_no_namespace() -> None:
    of = runtime({})
    of["kind"] = "ClusterTrainingRuntime"
    del of["metadata"]["namespace"]
    assert rendered(train_job({}, runtimeRef={"name": "rt"}), of).pods


def test_the_ancestor_label_wants_one_job_with_the_right_container() -> None:
    with pytest.raises(Denied, match=r"replicatedJobs\[0\]\.replicas: must be 1"):
        rendered(train_job({}), runtime({}, replicated_job(replicas=2)))
    with pytest.raises(Denied, match="needs a container called node"):
        rendered(train_job({}), runtime({}, replicated_job("node", container("pytorch"))))


def test_one_policy_at_most() -> None:
    with pytest.raises(Denied, match="only one of torch, jax"):
        rendered(train_job({}), runtime({"torch": {}, "jax": {}}))


def test_a_runtime_without_jobs_cannot_be_patched() -> None:
    without = runtime({})
    del without["spec"]["template"]["spec"]["replicatedJobs"]
    template = {"spec": {"replicatedJobs": [{"name": "node"}]}}
    patches = [{"manager": "example.com/placement", "trainingRuntimeSpec": {"template": template}}]
    with pytest.raises(Denied, match="the runtime has no replicated job node"):
        rendered(train_job({}, runtimePatches=patches), without)


@pytest.mark.parametrize("release", [Target.V2_0, Target.V2_1, Target.V2_2, Target.V2_3])
@pytest.mark.parametrize("field", ["podSpecOverrides", "podTemplateOverrides", "runtimePatches"])
def test_each_release_has_one_way_to_override(release: Any, field: str) -> None:
    own = {Target.V2_0: "podSpecOverrides", Target.V2_1: "podTemplateOverrides"}.get(release, "runtimePatches")
    overrides: dict[str, Any] = {field: []}
    job = train_job({}, **overrides)
    if own == field == "runtimePatches":
        assert rendered(job, runtime({}), release).pods
        return
    with pytest.raises(NotPredicted if own == field else Denied, match=field):
        rendered(job, runtime({}), release)


@pytest.mark.parametrize(
    ("dataset", "message"),
    [
        ({}, "no job dataset-initializer with a container dataset-initializer"),
        ({"storageUri": "nothing"}, "must be empty or like scheme://path"),
    ],
)
def test_initializers_without_a_job(dataset: Any, message: str) -> None:
    with pytest.raises(Denied, match=message):
        rendered(train_job({}, initializer={"dataset": dataset}), runtime({}))


def patched(pod: Any = None, job: str = "node", manager: str = "acme.io/who", **metadata: Any) -> Any:
    spec = {"replicatedJobs": [{"name": job, "template": {"spec": {"template": {"spec": pod or {}, **metadata}}}}]}
    return train_job({}, runtimePatches=[{"manager": manager, "trainingRuntimeSpec": {"template": {"spec": spec}}}])


@pytest.mark.parametrize(
    ("job", "message"),
    [
        (patched(manager="acme"), "`acme` is not of the form"),
        (patched(job="other"), "no replicated job other"),
        (patched({"containers": [{"name": "other"}]}), "no container other in node"),
        (patched({"containers": [{"name": "node", "image": "i"}]}), "cannot set image of container node"),
        (patched({"hostNetwork": True}), "cannot set hostNetwork of a pod"),
        (patched({"containers": [{"name": "node", "env": [{"name": "A"}]}]}), "cannot set variables of container node"),
    ],
)
def test_patches(job: Any, message: str) -> None:
    with pytest.raises(Denied, match=message):
        rendered(job, runtime({}))


def test_patches_are_merged_before_anything_else() -> None:
    node = replicated_job(
        "node",
        container(volumeMounts=[{"name": "v", "mountPath": "/v"}]),
        container("sidecar", env=[{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]),
        pod={"tolerations": [{"key": "a"}], "nodeSelector": {"x": "1"}, "volumes": [{"name": "v", "emptyDir": {}}]},
    )
    pod = {
        "containers": [
            {"name": "sidecar", "env": [{"name": "B", "value": "3"}, {"name": "C", "value": "4"}]},
            {"name": "node", "volumeMounts": [{"name": "w", "mountPath": "/w"}]},
        ],
        "tolerations": [{"key": "b"}],
        "nodeSelector": {"y": "2"},
        "volumes": [{"name": "w", "emptyDir": {}}],
    }
    made = rendered(patched(pod, metadata={"labels": {"p": "1"}}), runtime({"torch": {}}, node)).pods[0].pod
    assert made["metadata"]["labels"]["p"] == "1"
    spec = made["spec"]
    assert spec["tolerations"] == [{"key": "b"}]
    assert spec["nodeSelector"] == {"x": "1", "y": "2"}
    assert [each["name"] for each in spec["volumes"]] == ["w", "v"]
    # The items that the patch names are in its order, others come where they were before the first of these.
    assert [each["name"] for each in spec["containers"]] == ["sidecar", "node"]
    assert [each["name"] for each in spec["containers"][0]["env"]][:3] == ["A", "B", "C"]
    assert [each["mountPath"] for each in spec["containers"][1]["volumeMounts"]] == ["/w", "/v"]


def test_patches_of_metadata_go_to_the_jobset() -> None:
    patch = {
        "manager": "acme.io/x",
        "trainingRuntimeSpec": {"template": {"metadata": {"labels": {"a": "2", "b": "3"}}}},
    }
    template = {"metadata": {"labels": {"a": "1", "c": "4"}}}
    rendering = rendered(train_job({}, runtimePatches=[patch]), runtime({}, template=template))
    jobset = next(each for each in rendering.objects if each["kind"] == "JobSet")
    assert jobset["metadata"]["labels"] == {"a": "2", "b": "3", "c": "4"}


TWICE = [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]


@pytest.mark.parametrize(
    ("job", "of", "message"),
    [
        (train_job({"env": TWICE}), runtime({}), r"spec\.trainer\.env\[1\]: name A is there twice"),
        (
            train_job({}),
            runtime({}, replicated_job("node", container(env=TWICE))),
            r"containers\[0\]\.env\[1\]: name A",
        ),
        (train_job({}), runtime({}, replicated_job(), replicated_job()), r"replicatedJobs\[1\]: name node"),
        (train_job({}), runtime({}, replicated_job("node", container(), container())), r"containers\[1\]: name node"),
        (
            train_job({}),
            runtime(
                {}, replicated_job("node", container(ports=[{"containerPort": 1}, {"containerPort": 1, "name": "a"}]))
            ),
            r"ports\[1\]: containerPort 1 protocol TCP is there twice",
        ),
    ],
)
def test_lists_with_keys(job: Any, of: Any, message: str) -> None:
    with pytest.raises(Denied, match=message):
        rendered(job, of)


def test_one_number_with_two_protocols_is_let_in_and_then_written_over() -> None:
    ports = [{"name": "a", "containerPort": 1}, {"name": "b", "containerPort": 1, "protocol": "UDP"}]
    with pytest.raises(Denied, match="v2 writes ports of container node over each other"):
        rendered(train_job({}), runtime({}, replicated_job("node", container(ports=ports))))
