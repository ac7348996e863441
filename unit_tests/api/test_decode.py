"""Stored objects are read as they are, whatever the Go operator or a user made of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from e2e.support.paths import ROOT
from hypothesis import given
from hypothesis import strategies as st

from training_api.decode import DecodeError, decode_job, encode_status
from training_api.models.common import CleanPodPolicy, JobCondition, JobStatus, ReplicaStatus, RestartPolicy, Waiting
from training_api.registry import JAX, KINDS, MPI, PYTORCH, TENSORFLOW

GOLDEN = ROOT / "e2e" / "conformance" / "golden"
NOON = "2026-01-31T12:00:00Z"


def job(info: Any = JAX, spec: Any = None, status: Any = None, **metadata: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": "job", **metadata},
        "spec": {info.replica_field: {}, **(spec or {})},
        **({"status": status} if status is not None else {}),
    }


def recorded_jobs() -> Iterator[tuple[str, Any, dict[str, Any]]]:
    """Every state of every job that the Go operator left in the recordings, and where it is from."""
    for path in sorted(GOLDEN.glob("*.json")):
        text = path.read_text().replace("<time>", NOON)
        for number, snapshot in enumerate(json.loads(text)["snapshots"]):
            stored = snapshot["state"]["job"]
            if stored:
                info = next(info for info in KINDS.values() if info.replica_field in stored["spec"])
                yield f"{path.stem}, snapshot {number}", info, stored


def test_recorded_jobs_are_read_and_their_status_written_back_unchanged() -> None:
    recorded = [*recorded_jobs()]
    assert len(recorded) > 100
    for name, info, stored in recorded:
        decoded = decode_job(info, {**stored, "metadata": {"name": "job"}})
        assert set(decoded.replicas) == set(stored["spec"][info.replica_field]), name
        again = encode_status(decoded.status)
        assert again == {key: value for key, value in (stored["status"] or {}).items() if value != {}}, name


def test_all_that_a_status_can_hold_survives_a_round_trip() -> None:
    noon = datetime(2026, 1, 31, 12, tzinfo=UTC)
    status = JobStatus(
        conditions=(
            JobCondition(type="Created", status="True", reason="r", message="m", last_update_time=noon),
            JobCondition(type="Foreign", status="Unknown"),
        ),
        replica_statuses={
            "Master": ReplicaStatus(active=0, ready=0, restarts=0, selector=None, completed_indexes=""),
            "Worker": ReplicaStatus(
                active=1, succeeded=2, failed=3, selector="a=b", restarts=4, ready=5, completed_indexes="0-3,7"
            ),
        },
        start_time=noon,
        completion_time=noon,
        last_reconcile_time=noon,
        observed_generation=7,
        waiting=Waiting(reason="Quota", message="m", since=noon),
    )
    wire = encode_status(status)
    assert wire == {
        "conditions": [
            {"type": "Created", "status": "True", "reason": "r", "message": "m", "lastUpdateTime": NOON},
            {"type": "Foreign", "status": "Unknown"},
        ],
        "replicaStatuses": {
            "Master": {},
            "Worker": {
                "active": 1,
                "succeeded": 2,
                "failed": 3,
                "selector": "a=b",
                "restarts": 4,
                "ready": 5,
                "completedIndexes": "0-3,7",
            },
        },
        "startTime": NOON,
        "completionTime": NOON,
        "lastReconcileTime": NOON,
        "observedGeneration": 7,
        "waiting": {"reason": "Quota", "message": "m", "since": NOON},
    }
    assert decode_job(JAX, job(status=wire)).status == status


def test_times_are_utc_without_fractions() -> None:
    status = decode_job(JAX, job(status={"startTime": "2026-01-31T14:00:00.987654+02:00"})).status
    assert status.start_time == datetime(2026, 1, 31, 12, tzinfo=UTC)
    assert encode_status(status) == {"startTime": NOON}


@pytest.mark.parametrize(
    "spec",
    [
        {"runPolicy": None},
        {"jaxReplicaSpecs": {"Worker": {"replicas": None, "template": None, "restartPolicy": None}}},
        {"jaxReplicaSpecs": {"Worker": {"template": {"metadata": None, "spec": None}}}},
        {"jaxReplicaSpecs": {"Worker": {"template": {"metadata": {"creationTimestamp": None, "labels": None}}}}},
        {"jaxReplicaSpecs": {"Worker": {"template": {"spec": {"containers": None}}}}},
        {"jaxReplicaSpecs": {"Worker": {"template": {"spec": {"containers": [{"ports": None, "env": None}]}}}}},
        {"runPolicy": {"schedulingPolicy": {"minResources": {"cpu": 2, "memory": "1Gi"}}}},
        {"fieldOfANewerVersion": {"a": [1]}},
    ],
    ids=str,
)
def test_null_is_absent_and_unknown_is_ignored(spec: dict[str, Any]) -> None:
    decoded = decode_job(JAX, job(spec=spec))
    assert decoded.spec.run_policy.suspend is False


@pytest.mark.parametrize(
    "status",
    [None, {}, {"conditions": None, "replicaStatuses": None}, {"startTime": None}],
    ids=str,
)
def test_absent_status(status: Any) -> None:
    assert decode_job(JAX, job(status=status)).status == JobStatus()


def test_replica_types_keep_their_spelling() -> None:
    decoded = decode_job(TENSORFLOW, job(TENSORFLOW, {"tfReplicaSpecs": {"WORKER": {}, "ps": {}, "Foo": {}}}))
    assert list(decoded.replicas) == ["WORKER", "ps", "Foo"]


@pytest.mark.shows("E-089")
@pytest.mark.parametrize(
    ("stored", "policy"),
    [
        (None, None),
        ("None", CleanPodPolicy.NONE),
        ("Running", CleanPodPolicy.RUNNING),
        ("All", CleanPodPolicy.ALL),
        ("", CleanPodPolicy.ALL),
        ("Sometimes", CleanPodPolicy.ALL),
    ],
)
def test_any_other_text_of_the_clean_up_policy_means_all(stored: Any, policy: CleanPodPolicy | None) -> None:
    decoded = decode_job(MPI, job(MPI, {"runPolicy": {"cleanPodPolicy": stored}, "cleanPodPolicy": stored}))
    assert decoded.spec.run_policy.clean_pod_policy == policy
    assert getattr(decoded.spec, "clean_pod_policy") == policy  # noqa: B009 - the type is that of all kinds


def test_empty_restart_policy_is_absent() -> None:
    replicas = {"A": {"restartPolicy": ""}, "B": {"restartPolicy": "ExitCode"}}
    decoded = decode_job(JAX, job(spec={"jaxReplicaSpecs": replicas}))
    assert [r.restart_policy for r in decoded.replicas.values()] == [None, RestartPolicy.EXIT_CODE]


def test_metadata() -> None:
    decoded = decode_job(
        PYTORCH,
        job(
            PYTORCH,
            namespace="ns",
            uid="u",
            resourceVersion="12",
            generation=3,
            creationTimestamp=NOON,
            deletionTimestamp=None,
            labels=None,
            annotations={"a": "b"},
        ),
    )
    assert decoded.key == ("ns", "job")
    assert decoded.metadata.creation_timestamp == datetime(2026, 1, 31, 12, tzinfo=UTC)
    assert (decoded.metadata.labels, decoded.metadata.annotations) == ({}, {"a": "b"})


def worker(**replica: Any) -> dict[str, Any]:
    return job(spec={"jaxReplicaSpecs": {"Worker": replica}})


@pytest.mark.parametrize(
    ("stored", "text"),
    [
        (None, "object: Invalid value: null: should be a mapping"),
        ([1], "object: Invalid value: [1]: should be a mapping"),
        ({}, "metadata: Required value: must be required"),
        ({"metadata": {}}, "metadata.name: Required value: must be required"),
        ({"metadata": {"name": 3}}, "metadata.name: Invalid value: 3: should be a valid string"),
        ({"metadata": {"name": "a"}}, "spec: Required value: must be required"),
        ({"metadata": {"name": "a"}, "spec": []}, "spec: Invalid value: []: should be a mapping"),
        ({"metadata": {"name": "a"}, "spec": {}}, "spec.jaxReplicaSpecs: Required value: must be required"),
        (
            job(spec={"jaxReplicaSpecs": {"Worker": None}}),
            "spec.jaxReplicaSpecs[Worker]: Invalid value: null: should be a mapping",
        ),
        (
            worker(replicas="many"),
            'spec.jaxReplicaSpecs[Worker].replicas: Invalid value: "many": '
            "should be a valid integer, unable to parse string as an integer",
        ),
        (
            worker(restartPolicy="Sometimes"),
            'spec.jaxReplicaSpecs[Worker].restartPolicy: Invalid value: "Sometimes": '
            "should be 'Always', 'OnFailure', 'Never' or 'ExitCode'",
        ),
        (
            worker(template={"spec": {"containers": [{"ports": ["x"]}]}}),
            'spec.jaxReplicaSpecs[Worker].template.spec.containers[0].ports[0]: Invalid value: "x": '
            "should be a mapping",
        ),
        (
            worker(template={"spec": {"containers": [{"ports": [{"protocol": {}}]}]}}),
            "spec.jaxReplicaSpecs[Worker].template.spec.containers[0].ports[0].protocol: Invalid value: {}: "
            "should be a valid string",
        ),
        (
            worker(template={"spec": {"containers": [{"env": [{"value": "1"}]}]}}),
            "spec.jaxReplicaSpecs[Worker].template.spec.containers[0].env[0].name: Required value: must be required",
        ),
        (
            worker(template={"spec": {"containers": [{"resources": {"limits": True}}]}}),
            "spec.jaxReplicaSpecs[Worker].template.spec.containers[0].resources.limits: Invalid value: true: "
            "should be a mapping",
        ),
        (
            worker(template={"spec": {"schedulerName": []}}),
            "spec.jaxReplicaSpecs[Worker].template.spec.schedulerName: Invalid value: []: should be a valid string",
        ),
        (
            worker(template={"metadata": {"labels": {"a": 1}}}),
            "spec.jaxReplicaSpecs[Worker].template.metadata.labels[a]: Invalid value: 1: should be a valid string",
        ),
        (
            job(status={"replicaStatuses": {"Worker": {"active": "x" * 200}}}),
            f'status.replicaStatuses[Worker].active: Invalid value: "{"x" * 79}...: '
            "should be a valid integer, unable to parse string as an integer",
        ),
        (
            job(status={"startTime": ""}),
            'status.startTime: Invalid value: "": should be a valid datetime or date, input is too short',
        ),
        (
            job(status={"startTime": "9999-12-31T23:59:59-23:00"}),
            'status.startTime: Invalid value: "9999-12-31T23:59:59-23:00": is out of range',
        ),
    ],
    ids=lambda value: value.split(":")[0] if isinstance(value, str) else "",
)
def test_unusable_object_is_explained_in_one_sentence(stored: object, text: str) -> None:
    with pytest.raises(DecodeError) as error:
        decode_job(JAX, stored)
    assert str(error.value) == text


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.just(NOON),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
NAMES = st.sampled_from(
    [
        *("replicas", "template", "restartPolicy", "metadata", "name", "labels", "spec", "containers", "ports", "env"),
        *("suspend", "cleanPodPolicy", "managedBy", "schedulingPolicy", "minResources", "conditions", "type", "status"),
        *("startTime", "replicaStatuses", "Worker", "active", "waiting", "reason"),
    ]
)
NESTED = st.recursive(
    JSON, lambda inner: st.dictionaries(NAMES, inner, max_size=4) | st.lists(inner, max_size=2), max_leaves=10
)


@given(
    metadata=NESTED | st.fixed_dictionaries({"name": st.text()}),
    replicas=NESTED | st.dictionaries(st.text(max_size=3), NESTED, max_size=2),
    run_policy=NESTED,
    status=NESTED,
)
def test_nothing_but_a_decode_error_is_raised(metadata: Any, replicas: Any, run_policy: Any, status: Any) -> None:
    spec = {"jaxReplicaSpecs": replicas, "runPolicy": run_policy}
    try:
        decode_job(JAX, {"metadata": metadata, "spec": spec, "status": status})
    except DecodeError as error:
        assert str(error)
