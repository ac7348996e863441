"""Service bodies (K-29, K-31)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from unit_tests.controllers.builders import framework_of, load, make_job, stored_job

from training_api.kinds import Job
from training_api.registry import KINDS
from training_controllers.model.plan import Slot
from training_controllers.model.pod_spec import CannotBuild
from training_controllers.reconcile.builders import build_service, service_ports


def service(job: Job, slot: Slot) -> dict[str, Any]:
    return build_service(job, framework_of(job.info.kind), slot)


@pytest.mark.shows("K-31", "E-059", "E-060")
def test_a_headless_service_that_selects_its_pod() -> None:
    body = service(make_job("PyTorchJob", {"Master": 1, "Worker": 1}), Slot("Master", 0))
    labels = {
        "training.kubeflow.org/operator-name": "pytorchjob-controller",
        "training.kubeflow.org/job-name": "sim",
        "training.kubeflow.org/replica-type": "master",
        "training.kubeflow.org/replica-index": "0",
    }
    assert (body["apiVersion"], body["kind"]) == ("v1", "Service")
    assert body["metadata"]["name"] == "sim-master-0"
    assert body["metadata"]["namespace"] == "ns"
    assert body["metadata"]["labels"] == labels
    assert body["metadata"]["ownerReferences"][0]["controller"] is True
    assert body["spec"] == {
        "clusterIP": "None",
        "publishNotReadyAddresses": True,
        "selector": labels,
        "ports": [{"name": "pytorchjob-port", "port": 23456, "protocol": "TCP"}],
    }


@pytest.mark.shows("E-061")
def test_the_ports_are_those_of_the_main_container() -> None:
    stored = stored_job("JAXJob", {"Worker": 1})
    stored["spec"]["jaxReplicaSpecs"]["Worker"]["template"]["spec"]["containers"] = [
        {"name": "side", "image": "s", "ports": [{"containerPort": 1}]},
        {"name": "jax", "image": "i", "ports": [{"name": "metrics", "containerPort": 9090}]},
    ]
    ports = service(load("JAXJob", stored), Slot("Worker", 0))["spec"]["ports"]
    assert [(port["name"], port["port"]) for port in ports] == [("metrics", 9090), ("jaxjob-port", 6666)]


@pytest.mark.shows("E-062")
def test_without_main_container_there_is_no_service() -> None:
    stored = stored_job("JAXJob", {"Worker": 1})
    stored["spec"]["jaxReplicaSpecs"]["Worker"]["template"]["spec"]["containers"] = [{"name": "other", "image": "i"}]
    with pytest.raises(CannotBuild, match="failed to find the port"):
        service(load("JAXJob", stored), Slot("Worker", 0))


def test_a_port_without_number_is_no_service() -> None:
    stored = stored_job("JAXJob", {"Worker": 1})
    container = stored["spec"]["jaxReplicaSpecs"]["Worker"]["template"]["spec"]["containers"][0]
    container["ports"] = [{"name": "jaxjob-port"}]
    with pytest.raises(CannotBuild, match="container port 'jaxjob-port' has no number"):
        service(load("JAXJob", stored), Slot("Worker", 0))


FETCH = {"name": "storage-initializer", "image": "example.com/fetch:1"}


@pytest.mark.shows("SDK-7.3")
@pytest.mark.parametrize(
    ("kind", "replica_type", "init_containers", "published"),
    [
        ("PyTorchJob", "Master", [FETCH], False),
        ("PyTorchJob", "Master", [{**FETCH, "restartPolicy": "Always"}, FETCH], False),
        ("PyTorchJob", "Master", [{**FETCH, "restartPolicy": "Always"}], True),
        ("PyTorchJob", "Master", None, True),
        ("PyTorchJob", "Worker", [FETCH], True),
        ("XGBoostJob", "Master", [FETCH], True),
    ],
)
def test_a_master_that_prepares_appears_once_it_is_ready(
    kind: str, replica_type: str, init_containers: list[dict[str, str]] | None, published: bool
) -> None:
    """Workers wait for the master's name, and must not see it before its init containers are done."""
    stored = stored_job(kind, {"Master": 1, "Worker": 1})
    specs = stored["spec"][KINDS[kind].replica_field]
    pod_spec = {**specs[replica_type]["template"]["spec"], "initContainers": init_containers}
    specs[replica_type] = {**specs[replica_type], "template": {"spec": pod_spec}}
    for each in ("Master", "Worker"):
        expected = published if each == replica_type else True
        assert service(load(kind, stored), Slot(each, 0))["spec"]["publishNotReadyAddresses"] is expected


@pytest.mark.shows("K-29")
@pytest.mark.parametrize(
    ("container_ports", "expected"),
    [
        ([], []),
        ([(80, None, "a"), (81, None, "b")], [("a", 80, "TCP"), ("b", 81, "TCP")]),
        ([(80, None, ""), (81, None, "")], [("tcp-80", 80, "TCP"), ("tcp-81", 81, "TCP")]),
        ([(80, "TCP", "a"), (80, "UDP", "b")], [("a", 80, "TCP"), ("b", 80, "UDP")]),
        ([(80, None, ""), (80, None, "a")], [("a", 80, "TCP")]),
        ([(80, None, "a"), (80, None, "b")], [("a", 80, "TCP")]),
        ([(80, None, ""), (81, None, "tcp-80")], [("tcp-80x", 80, "TCP"), ("tcp-80", 81, "TCP")]),
        ([(80, "SCTP", "")], [("sctp-80", 80, "SCTP")]),
    ],
)
def test_ports_are_unique_and_named(
    container_ports: list[tuple[int, str | None, str]], expected: list[tuple[str, int, str]]
) -> None:
    given_ports: list[dict[str, Any]] = [
        {"containerPort": number, **({"protocol": protocol} if protocol else {}), **({"name": name} if name else {})}
        for number, protocol, name in container_ports
    ]
    ports = service_ports(given_ports)
    assert [(port["name"], port["port"], port["protocol"]) for port in ports] == expected


PORTS = st.lists(
    st.fixed_dictionaries(
        {"containerPort": st.integers(1, 4)},
        optional={"protocol": st.sampled_from(["TCP", "UDP"]), "name": st.sampled_from(["a", "b", "tcp-1"])},
    ),
    unique_by=lambda port: port.get("name") or id(port),
)


@pytest.mark.shows("K-29")
@given(PORTS)
def test_the_api_server_would_accept_any_of_them(container_ports: list[dict[str, Any]]) -> None:
    ports = service_ports(container_ports)
    assert len({port["name"] for port in ports}) == len(ports)
    assert len({(port["port"], port["protocol"]) for port in ports}) == len(ports)
    assert {port["port"] for port in ports} == {port["containerPort"] for port in container_ports}
