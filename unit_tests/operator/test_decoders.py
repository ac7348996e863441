import json
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from training_api.registry import KINDS
from training_controllers.model.owned_objects import AUTOSCALER, POD_GROUP, SERVICE_ACCOUNT
from training_controllers.model.records import ContainerState, JobRecord, Owner
from training_operator.kube import decoders
from training_operator.kube.resources import PODS, PRIORITY_CLASSES, jobs, owned_resource

OWNER = {
    "apiVersion": "kubeflow.org/v1",
    "kind": "PyTorchJob",
    "name": "sim",
    "uid": "j1",
    "controller": True,
    "blockOwnerDeletion": True,
}
AUTOSCALERS = owned_resource(AUTOSCALER)
METADATA = {
    "name": "sim-worker-3",
    "namespace": "team",
    "uid": "p1",
    "resourceVersion": "42",
    "creationTimestamp": "2024-05-01T10:00:00Z",
    "labels": {"training.kubeflow.org/replica-type": "worker", "training.kubeflow.org/replica-index": "3"},
    "annotations": {
        "extension.training.kubeflow.org/restarts": "4",
        "extension.training.kubeflow.org/backoff-level": "2",
    },
    "ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "x"}, OWNER],
}


def raw(status: dict[str, Any] | None = None, **metadata: Any) -> bytes:
    body: dict[str, Any] = {"kind": "Pod", "metadata": METADATA | metadata, "spec": {"nodeName": "n1"}}
    return json.dumps(body | ({"status": status} if status is not None else {})).encode()


def at(second: int) -> datetime:
    return datetime(2024, 5, 1, 10, 0, second, tzinfo=UTC)


def test_a_pod_is_reduced_to_what_decisions_need() -> None:
    record = decoders.pod(
        raw(
            {
                "phase": "Failed",
                "podIP": "10.0.0.7",
                "reason": "Evicted",
                "message": "low on memory",
                "conditions": [
                    {"type": "Ready", "status": "False"},
                    {"type": "DisruptionTarget", "status": "True"},
                ],
            },
            deletionTimestamp="2024-05-01T10:00:30Z",
        )
    )
    assert (record.namespace, record.name, record.uid, record.version) == ("team", "sim-worker-3", "p1", "42")
    assert record.owner == Owner("PyTorchJob", "sim", "j1", "kubeflow.org")
    assert (record.replica_type, record.index) == ("worker", 3)
    assert (record.phase, record.reason, record.message) == ("Failed", "Evicted", "low on memory")
    assert (record.deleting, record.ready, record.disrupted) == (True, False, True)
    assert (record.restarts_before, record.backoff_level) == (4, 2)
    assert (record.node, record.ip, record.created) == ("n1", "10.0.0.7", at(0))
    assert record.containers == ()


def test_a_disruption_has_a_reason_and_a_deletion_an_end() -> None:
    condition = {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}
    leaving = {"deletionTimestamp": "2024-05-01T10:00:30Z", "deletionGracePeriodSeconds": 30}
    record = decoders.pod(raw({"conditions": [condition]}, **leaving))
    assert (record.disrupted, record.disruption, record.stops_by) == (True, "PreemptionByScheduler", at(30))
    assert decoders.pod(raw({}, **leaving | {"deletionGracePeriodSeconds": 0})).stops_by is None
    planned = decoders.pod(raw({"conditions": [condition | {"status": "False"}]}))
    assert (planned.disrupted, planned.disruption, planned.stops_by) == (False, "", None)


@pytest.mark.parametrize(("status", "unready"), [("True", None), ("False", 7), ("Unknown", 7)])
def test_of_a_node_only_its_readiness_matters(status: str, unready: int | None) -> None:
    ready = {"type": "Ready", "status": status, "lastTransitionTime": "2024-05-01T10:00:07Z"}
    pressure = {"type": "DiskPressure", "status": "False", "lastTransitionTime": "2024-05-01T10:00:09Z"}
    meta = {"name": "n1", "uid": "u", "resourceVersion": "3"}
    record = decoders.node(json.dumps({"metadata": meta, "status": {"conditions": [pressure, ready]}}).encode())
    assert (record.name, record.uid, record.version, record.namespace) == ("n1", "u", "3", "")
    assert record.unready_since == (at(unready) if unready is not None else None)
    assert decoders.node(json.dumps({"metadata": meta}).encode()).unready_since is None


def test_owners_are_shared_among_the_objects_of_a_job() -> None:
    assert decoders.pod(raw()).owner is decoders.pod(raw(name="other")).owner


@pytest.mark.parametrize("index", ["-1", "x", "", "1.5", "²"])
def test_an_index_that_is_no_number_is_none(index: str) -> None:
    assert decoders.pod(raw(labels={"training.kubeflow.org/replica-index": index})).index == -1


def test_a_bare_pod_has_defaults() -> None:
    bare = b'{"metadata": {"name": "a", "labels": null, "ownerReferences": null}}'
    record = decoders.pod(bare)
    assert (record.owner, record.replica_type, record.index, record.phase) == (None, "", -1, "")


def test_only_notable_containers_are_kept() -> None:
    statuses = [
        {"name": "plain", "restartCount": 0, "state": {"running": {"startedAt": "2024-05-01T10:00:01Z"}}},
        {"name": "starting", "restartCount": 0, "state": {"waiting": {"reason": "ContainerCreating"}}},
        {"name": "pulling", "restartCount": 0, "state": {"waiting": {"reason": "ErrImagePull", "message": "no"}}},
        {"name": "again", "restartCount": 2, "state": {"running": {"startedAt": "2024-05-01T10:00:02Z"}}},
        {
            "name": "dead",
            "restartCount": 1,
            "state": {
                "terminated": {
                    "exitCode": 137,
                    "reason": "OOMKilled",
                    "message": "too much",
                    "startedAt": "2024-05-01T10:00:03Z",
                    "finishedAt": "2024-05-01T10:00:09Z",
                }
            },
        },
        {"name": "fine", "restartCount": 0, "state": {"terminated": {"exitCode": 0, "reason": "Completed"}}},
        {"name": "unknown", "restartCount": 0},
    ]
    init = [
        {"name": "done", "restartCount": 0, "state": {"terminated": {"exitCode": 0}}},
        {"name": "bad", "restartCount": 0, "state": {"terminated": {"exitCode": 3}}},
    ]
    record = decoders.pod(raw({"phase": "Running", "containerStatuses": statuses, "initContainerStatuses": init}))
    assert record.containers == (
        ContainerState("bad", init=True, exit_code=3),
        ContainerState("pulling", reason="ErrImagePull", message="no", waiting=True),
        ContainerState("again", restarts=2, started_at=at(2)),
        ContainerState(
            "dead",
            restarts=1,
            exit_code=137,
            finished_at=at(9),
            started_at=at(3),
            reason="OOMKilled",
            message="too much",
        ),
        ContainerState("fine", exit_code=0, reason="Completed"),
    )


def test_pods_that_have_succeeded_share_what_is_alike_and_keep_no_times_and_addresses() -> None:
    ended = {"exitCode": 0, "startedAt": "2024-05-01T10:00:03Z", "finishedAt": "2024-05-01T10:00:09Z"}
    status = {"containerStatuses": [{"name": "main", "restartCount": 0, "state": {"terminated": ended}}]}
    one, two = (decoders.pod(raw({"phase": "Succeeded", "podIP": "10.0.0.1", **status}, uid=uid)) for uid in "ab")
    assert one.containers == (ContainerState("main", exit_code=0),)
    assert one.containers is two.containers
    assert (one.created is two.created, one.ip) == (True, "")


def test_the_newest_condition_is_a_cause_while_no_container_has_a_status() -> None:
    conditions = [
        {"type": "B", "status": "False", "reason": "Unschedulable", "message": "0/3 nodes", "lastTransitionTime": t}
        for t in ("2024-05-01T10:00:05Z",)
    ] + [{"type": "A", "status": "True", "lastTransitionTime": "2024-05-01T10:00:01Z"}]
    waiting = decoders.pod(raw({"phase": "Pending", "conditions": conditions}))
    assert (waiting.condition_reason, waiting.condition_message) == ("Unschedulable", "0/3 nodes")
    started = decoders.pod(raw({"conditions": conditions, "containerStatuses": [{"name": "a"}]}))
    assert started.condition_reason == ""
    conditions[0]["status"] = "True"
    assert decoders.pod(raw({"conditions": conditions})).condition_reason == ""


def test_a_service() -> None:
    record = decoders.service(raw(deletionTimestamp="2024-05-01T10:00:30Z"))
    assert (record.name, record.replica_type, record.index, record.deleting) == ("sim-worker-3", "worker", 3, True)
    assert record.owner == Owner("PyTorchJob", "sim", "j1")


def test_the_spec_of_an_autoscaler_is_kept_in_one_form() -> None:
    one = b'{"metadata": {"name": "a"}, "spec": {"minReplicas": 1, "maxReplicas": 3}}'
    two = b'{"metadata": {"name": "a"}, "spec": {"maxReplicas": 3,  "minReplicas": 1}}'
    assert AUTOSCALERS.decode(one) == AUTOSCALERS.decode(two)
    assert AUTOSCALERS.decode(one).content == b'{"maxReplicas":3,"minReplicas":1}'


def test_of_an_object_that_never_changes_no_content_is_kept() -> None:
    record = owned_resource(SERVICE_ACCOUNT).decode(b'{"metadata": {"name": "a"}, "secrets": []}')
    assert (record.kind, record.name, record.content) == ("ServiceAccount", "a", b"null")


def test_a_job_is_kept_as_json_without_managed_fields() -> None:
    body = {
        "kind": "PyTorchJob",
        "metadata": {"name": "a", "namespace": "ns", "uid": "u", "resourceVersion": "7", "managedFields": [{"a": 1}]},
        "spec": {"pytorchReplicaSpecs": {"Worker": {"template": {"x-unknown": [1.50, None]}}}},
        "status": {"conditions": []},
    }
    record = jobs(KINDS["PyTorchJob"]).decode(json.dumps(body).encode())
    assert json.loads(record.status) == body.pop("status")
    for name in ("managedFields", "resourceVersion"):
        del body["metadata"][name]  # type: ignore[attr-defined] # a dict of dicts here
    assert json.loads(record.raw) == body
    assert (record.key, record.uid, record.version) == (("ns", "a"), "u", "7")


def test_a_job_of_which_only_the_status_changes_is_kept_as_the_same_json() -> None:
    def job(version: str, **status: Any) -> JobRecord:
        body = {"metadata": {"name": "a", "resourceVersion": version}, "spec": {}, **status}
        return jobs(KINDS["PyTorchJob"]).decode(json.dumps(body).encode())

    without, later = job("7"), job("8", status={"conditions": []})
    assert without.raw == later.raw
    assert (without.status, json.loads(later.status)) == (b"null", {"conditions": []})


def test_a_record_of_a_pod_is_small() -> None:
    record = PODS.decode(raw({"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}))
    own = msgspec.json.encode(record)
    assert len(own) < 600


@pytest.mark.parametrize(
    ("resource", "arguments", "path"),
    [
        (PODS, ("ns", "a"), "/api/v1/namespaces/ns/pods/a"),
        (PODS, (), "/api/v1/pods"),
        (PODS, ("ns",), "/api/v1/namespaces/ns/pods"),
        (AUTOSCALERS, ("ns", "a", "status"), "/apis/autoscaling/v2/namespaces/ns/horizontalpodautoscalers/a/status"),
        (jobs(KINDS["JAXJob"]), ("", ""), "/apis/kubeflow.org/v1/jaxjobs"),
        (PODS, ("a/b", "../c"), "/api/v1/namespaces/a%2Fb/pods/..%2Fc"),
    ],
)
def test_paths(resource: Any, arguments: tuple[str, ...], path: str) -> None:
    assert resource.path(*arguments) == path


def test_names_for_people() -> None:
    assert PODS.qualified == "pods"
    assert jobs(KINDS["JAXJob"]).qualified == "jaxjobs.kubeflow.org"


def test_the_phase_is_read_where_it_matters() -> None:
    group = b'{"metadata": {"name": "a"}, "spec": {"minMember": 1}, "status": {"phase": "Inqueue", "running": 1}}'
    assert owned_resource(POD_GROUP).decode(group).phase == "Inqueue"
    assert owned_resource(POD_GROUP).decode(b'{"metadata": {"name": "a"}}').phase == ""
    assert owned_resource(AUTOSCALER).decode(group).phase == ""


def test_a_priority_class() -> None:
    record = PRIORITY_CLASSES.decode(b'{"metadata": {"name": "a"}, "value": -7, "globalDefault": true}')
    assert (record.name, record.namespace, record.value, record.default) == ("a", "", -7, True)
    assert PRIORITY_CLASSES.decode(b'{"metadata": {"name": "b"}}').default is False


@pytest.mark.shows("INT-103")
def test_restarts_of_a_native_sidecar_are_its_own() -> None:
    waiting = {"waiting": {"reason": "CrashLoopBackOff"}}
    statuses = [{"name": name, "restartCount": 3, "state": waiting} for name in ("istio-proxy", "prepare")]
    sidecar = {"name": "istio-proxy", "restartPolicy": "Always"}
    body = json.loads(raw({"phase": "Pending", "initContainerStatuses": statuses}))
    body["spec"]["initContainers"] = [sidecar, {"name": "prepare"}]
    states = decoders.pod(json.dumps(body).encode()).containers
    assert {state.name: (state.restarts, state.reason) for state in states} == {
        "istio-proxy": (0, "CrashLoopBackOff"),
        "prepare": (3, "CrashLoopBackOff"),
    }
