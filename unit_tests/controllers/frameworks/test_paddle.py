"""PaddleJob: environment in both modes, roles, status rules."""

from __future__ import annotations

from typing import Any

import pytest
from unit_tests.controllers.builders import (
    START,
    World,
    conditions,
    framework_of,
    load,
    make_job,
    message,
    stored_job,
    world,
)

from training_api.kinds import Job
from training_controllers.frameworks.paddle import environment
from training_controllers.model.plan import NewPod, Slot
from training_controllers.reconcile.builders import build_pod

OWN_ADDRESS = {"name": "POD_IP_DUMMY", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}


def variables(*pairs: tuple[str, str] | dict[str, Any]) -> list[dict[str, Any]]:
    return [pair if isinstance(pair, dict) else {"name": pair[0], "value": pair[1]} for pair in pairs]


@pytest.mark.shows("PD-008", "PD-009", "PD-010", "PD-011", "PD-015", "PD-016")
def test_in_collective_mode_workers_meet_at_worker_0() -> None:
    stored = stored_job("PaddleJob", {"Worker": 2}, name="paddle-simple-cpu")
    container = stored["spec"]["paddleReplicaSpecs"]["Worker"]["template"]["spec"]["containers"][0]
    container["ports"] = [{"name": "master", "containerPort": 37777}]
    job = load("PaddleJob", stored)
    common = [("PYTHONUNBUFFERED", "1"), ("PADDLE_JOB_ID", "paddle-simple-cpu"), ("PADDLE_NNODES", "2")]
    assert environment(job, Slot("Worker", 0)) == variables(
        *common, OWN_ADDRESS, ("PADDLE_MASTER", "$(POD_IP_DUMMY):37777")
    )
    assert environment(job, Slot("Worker", 1)) == variables(
        *common, ("PADDLE_MASTER", "paddle-simple-cpu-worker-0:37777")
    )
    assert job.replicas["Worker"].template["spec"]["containers"][0]["ports"] == container["ports"]


@pytest.mark.shows("PD-012", "PD-013", "PD-014")
def test_with_masters_all_meet_at_master_0() -> None:
    job = make_job("PaddleJob", {"Master": 1, "Worker": 2}, name="ps-job")
    common = [("PYTHONUNBUFFERED", "1"), ("PADDLE_JOB_ID", "ps-job"), ("PADDLE_NNODES", "3")]
    assert environment(job, Slot("Master", 0)) == variables(
        *common, OWN_ADDRESS, ("PADDLE_MASTER", "$(POD_IP_DUMMY):36543"), ("PADDLE_SERVER_NUM", "1")
    )
    for index in range(2):
        assert environment(job, Slot("Worker", index)) == variables(
            *common, ("PADDLE_MASTER", "ps-job-master-0:36543"), ("PADDLE_TRAINER_NUM", "1")
        )


def test_further_masters_meet_at_master_0_too() -> None:
    job = make_job("PaddleJob", {"Master": 2, "Worker": 1})
    assert environment(job, Slot("Master", 1))[2:] == variables(
        ("PADDLE_NNODES", "3"), ("PADDLE_MASTER", "sim-master-0:36543"), ("PADDLE_SERVER_NUM", "1")
    )


def test_a_type_without_the_named_container_is_met_at_the_default_port() -> None:
    stored = stored_job("PaddleJob", {"Worker": 2})
    stored["spec"]["paddleReplicaSpecs"]["Worker"]["template"] = {"spec": {"containers": [{"name": "x", "image": "i"}]}}
    job = load("PaddleJob", stored)
    assert environment(job, Slot("Worker", 1))[-1] == {"name": "PADDLE_MASTER", "value": "sim-worker-0:36543"}


@pytest.mark.shows("PD-017", "PD-020")
@pytest.mark.parametrize(
    ("replicas", "roles"),
    [({"Master": 1, "Worker": 1}, ["master", None]), ({"Worker": 2}, [None, None])],
)
def test_only_masters_have_the_role(replicas: dict[str, int], roles: list[str | None]) -> None:
    job: Job = make_job("PaddleJob", replicas)
    slots = [Slot(name, index) for name, count in replicas.items() for index in range(count)]
    bodies = [build_pod(job, framework_of("PaddleJob"), NewPod(slot)) for slot in slots]
    assert [body["metadata"]["labels"].get("training.kubeflow.org/job-role") for body in bodies] == roles
    assert all("initContainers" not in body["spec"] for body in bodies)


@pytest.mark.shows("PD-018", "PD-027")
@pytest.mark.parametrize("elastic", [{"minReplicas": 2}, {"minReplicas": 1, "maxReplicas": 4, "metrics": []}])
def test_an_elastic_policy_has_no_effect(elastic: dict[str, Any]) -> None:
    job = make_job("PaddleJob", {"Worker": 2}, elasticPolicy=elastic)
    assert framework_of("PaddleJob").owned_objects(job, {}) == ()
    assert environment(job, Slot("Worker", 0)) == environment(make_job("PaddleJob", {"Worker": 2}), Slot("Worker", 0))


def run(replicas: dict[str, int], phases: dict[str, str], **options: Any) -> World:
    w = world("PaddleJob", replicas, **options).settle()
    w.set_pods("Running")
    for name, phase in phases.items():
        w.set_pods(phase, f"sim-{name}", exit_code={"Succeeded": 0, "Failed": 1}.get(phase))
    w.step()
    return w


BOTH, WORKERS = {"Master": 1, "Worker": 2}, {"Worker": 2}


@pytest.mark.shows("PD-021", "PD-022", "PD-023")
@pytest.mark.parametrize(
    ("replicas", "phases", "expected", "text"),
    [
        (BOTH, {}, "Running", "sim is running."),
        (BOTH, {"master-0": "Succeeded"}, "Succeeded", "sim is successfully completed."),
        ({"Master": 2, "Worker": 1}, {"master-0": "Succeeded"}, "Running", "sim is running."),
        (WORKERS, {"worker-0": "Succeeded", "worker-1": "Succeeded"}, "Succeeded", "ns/sim successfully completed."),
        (WORKERS, {"worker-0": "Succeeded"}, "Running", "ns/sim is running."),
    ],
)
@pytest.mark.parametrize("elastic", [{}, {"elasticPolicy": {"minReplicas": 1}}])
def test_status_rules(
    replicas: dict[str, int], phases: dict[str, str], elastic: dict[str, Any], expected: str, text: str
) -> None:
    w = run(replicas, phases, **elastic)
    assert conditions(w.status)[-1] == f"{expected}=True"
    assert w.status.conditions[-1].message == f"PaddleJob {text}"
    assert (w.status.completion_time == START) is (expected == "Succeeded")


@pytest.mark.shows("PD-024")
def test_a_failed_worker_fails_the_job() -> None:
    w = run({"Worker": 2}, {"worker-1": "Failed"}, restart="Never")
    assert message(w.status, "Failed").startswith("PaddleJob sim is failed because 1 Worker replica(s) failed.")


@pytest.mark.shows("PD-025")
def test_with_the_default_policy_it_is_replaced() -> None:
    w = run({"Worker": 2}, {"worker-1": "Failed"})
    assert message(w.status, "Restarting") == "PaddleJob sim is restarting because 1 Worker replica(s) failed."
    assert list(w.pods) == ["sim-worker-0"]
    w.settle()
    assert list(w.pods) == ["sim-worker-0", "sim-worker-1"]
