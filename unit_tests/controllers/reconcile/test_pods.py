"""Pod bodies."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from unit_tests.controllers.builders import framework_of, load, make_job, stored_job

from training_api.kinds import Job
from training_controllers.model.plan import NewPod, RestartHistory, Slot
from training_controllers.reconcile.builders import build_pod


def build(job: Job, replica_type: str = "Worker", index: int = 0, **history: int) -> dict[str, Any]:
    return build_pod(job, framework_of(job.info.kind), NewPod(Slot(replica_type, index), RestartHistory(**history)))


def with_template(template: dict[str, Any]) -> Job:
    """A JAXJob whose workers have this template."""
    stored = stored_job("JAXJob", {"Worker": 2})
    worker = stored["spec"]["jaxReplicaSpecs"]["Worker"]
    worker["template"] = {"spec": worker["template"]["spec"], **template}
    return load("JAXJob", stored)


@pytest.mark.shows("E-023", "E-024", "E-028")
def test_a_pod_has_name_labels_and_owner() -> None:
    body = build(make_job("JAXJob", {"Worker": 2}), index=1)
    assert (body["apiVersion"], body["kind"]) == ("v1", "Pod")
    metadata = body["metadata"]
    assert (metadata["name"], metadata["namespace"]) == ("sim-worker-1", "ns")
    assert metadata["labels"] == {
        "training.kubeflow.org/operator-name": "jaxjob-controller",
        "training.kubeflow.org/job-name": "sim",
        "training.kubeflow.org/replica-type": "worker",
        "training.kubeflow.org/replica-index": "1",
    }
    assert [owner["kind"] for owner in metadata["ownerReferences"]] == ["JAXJob"]
    assert "annotations" not in metadata
    assert "finalizers" not in metadata


@pytest.mark.shows("E-026", "E-027")
def test_what_the_pod_takes_from_the_templates_metadata() -> None:
    own = {
        "name": "mine",
        "namespace": "elsewhere",
        "labels": {"team": "a", "training.kubeflow.org/replica-index": "9"},
        "annotations": {"note": "b"},
        "finalizers": ["example.com/hold"],
        "ownerReferences": [{"kind": "Other"}],
    }
    metadata = build(with_template({"metadata": own}))["metadata"]
    assert (metadata["name"], metadata["namespace"]) == ("sim-worker-0", "ns")
    assert metadata["labels"]["team"] == "a"
    assert metadata["labels"]["training.kubeflow.org/replica-index"] == "0"
    assert metadata["annotations"] == {"note": "b"}
    assert metadata["finalizers"] == ["example.com/hold"]
    assert len(metadata["ownerReferences"]) == 1


@pytest.mark.shows("E-029")
@pytest.mark.parametrize(
    ("policy", "expected"),
    [("ExitCode", "Never"), ("Never", "Never"), ("OnFailure", "OnFailure"), ("Always", "Always"), (None, "Never")],
)
def test_the_kubelet_never_restarts_by_exit_code(policy: str | None, expected: str) -> None:
    assert build(make_job("JAXJob", {"Worker": 1}, restart=policy))["spec"]["restartPolicy"] == expected


@pytest.mark.shows("E-030")
def test_the_replicas_restart_policy_wins_over_the_templates() -> None:
    job = with_template({"spec": {"restartPolicy": "Always", "containers": [{"name": "jax", "image": "i"}]}})
    assert build(job)["spec"]["restartPolicy"] == "Never"


@pytest.mark.shows("K-03")
def test_a_pod_with_predecessors_says_what_its_slot_has_seen() -> None:
    annotations = build(make_job("JAXJob", {"Worker": 1}), restarts=4, backoff_level=2)["metadata"]["annotations"]
    assert annotations == {
        "extension.training.kubeflow.org/restarts": "4",
        "extension.training.kubeflow.org/backoff-level": "2",
    }


@pytest.mark.shows("K-03")
def test_the_template_cannot_forge_that() -> None:
    forged = {"extension.training.kubeflow.org/restarts": "99", "note": "b"}
    metadata = build(with_template({"metadata": {"annotations": forged}}))["metadata"]
    assert metadata["annotations"] == {"note": "b"}


@pytest.mark.shows("E-023")
def test_everything_else_of_the_pod_spec_is_the_users() -> None:
    spec = {
        "containers": [{"name": "side", "image": "s"}, {"name": "jax", "image": "i", "unknownField": {"a": [1]}}],
        "hostNetwork": True,
        "nodeSelector": {"gpu": "yes"},
        "somethingNew": 1,
    }
    body = build(with_template({"spec": spec}))["spec"]
    assert {key: body[key] for key in ("hostNetwork", "nodeSelector", "somethingNew")} == {
        "hostNetwork": True,
        "nodeSelector": {"gpu": "yes"},
        "somethingNew": 1,
    }
    assert body["containers"][1]["unknownField"] == {"a": [1]}


@pytest.mark.parametrize("kind", ["JAXJob", "PyTorchJob"])
def test_building_changes_nothing_in_the_job_and_shares_its_parts(kind: str) -> None:
    stored = stored_job(kind, {"Worker": 2} if kind == "JAXJob" else {"Master": 1, "Worker": 2})
    field = framework_of(kind).info.replica_field
    template = stored["spec"][field]["Worker"]["template"]
    template["metadata"] = {"labels": {"a": "b"}, "annotations": {"c": "d"}}
    template["spec"]["volumes"] = [{"name": "data", "emptyDir": {}}]
    template["spec"]["initContainers"] = [{"name": "prep", "image": "p"}]
    template["spec"]["containers"][0]["env"] = [{"name": "A", "value": "1"}]
    job = load(kind, stored)
    before = copy.deepcopy(job.replicas["Worker"].template)
    body = build(job, restarts=1)
    assert job.replicas["Worker"].template == before
    assert body["spec"]["volumes"] is job.replicas["Worker"].template["spec"]["volumes"]


def test_null_is_the_same_as_absent_in_a_template() -> None:
    spec = {"containers": [{"name": "jax", "image": "i", "env": None, "ports": None}], "initContainers": None}
    body = build(with_template({"spec": spec, "metadata": None}))
    assert body["metadata"]["name"] == "sim-worker-0"
    assert body["spec"]["containers"][0]["env"][0] == {"name": "PYTHONUNBUFFERED", "value": "1"}
