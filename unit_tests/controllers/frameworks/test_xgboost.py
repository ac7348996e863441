"""XGBoostJob: environment, roles, status rules."""

from __future__ import annotations

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
    texts,
    world,
)

from training_api.kinds import Job
from training_controllers.frameworks.xgboost import environment
from training_controllers.model.plan import NewPod, Slot
from training_controllers.model.pod_spec import CannotBuild
from training_controllers.reconcile.builders import build_pod


def with_ports(replicas: dict[str, int], name: str, **ports: int) -> Job:
    stored = stored_job("XGBoostJob", replicas, name=name)
    for replica_type, port in ports.items():
        container = {"name": "xgboost", "image": "i", "ports": [{"name": "xgboostjob-port", "containerPort": port}]}
        stored["spec"]["xgbReplicaSpecs"][replica_type]["template"] = {"spec": {"containers": [container]}}
    return load("XGBoostJob", stored)


def pairs(job: Job, slot: Slot) -> list[tuple[str, str]]:
    return [(variable["name"], variable["value"]) for variable in environment(job, slot)]


@pytest.mark.shows("XGB-009", "XGB-010", "XGB-011", "XGB-012", "XGB-015")
@pytest.mark.parametrize(("slot", "rank"), [(Slot("Master", 0), "0"), (Slot("Worker", 1), "2")])
def test_all_replicas_get_master_and_workers(slot: Slot, rank: str) -> None:
    job = with_ports({"Master": 1, "Worker": 2}, "xgb", Master=9991, Worker=9991)
    assert pairs(job, slot) == [
        ("MASTER_PORT", "9991"),
        ("MASTER_ADDR", "xgb-master-0"),
        ("WORLD_SIZE", "3"),
        ("RANK", rank),
        ("PYTHONUNBUFFERED", "1"),
        ("WORKER_PORT", "9991"),
        ("WORKER_ADDRS", "xgb-worker-0,xgb-worker-1"),
    ]


@pytest.mark.shows("XGB-013")
def test_a_master_alone_gets_no_workers() -> None:
    assert pairs(make_job("XGBoostJob", {"Master": 1}, name="solo"), Slot("Master", 0)) == [
        ("MASTER_PORT", "9999"),
        ("MASTER_ADDR", "solo-master-0"),
        ("WORLD_SIZE", "1"),
        ("RANK", "0"),
        ("PYTHONUNBUFFERED", "1"),
    ]


@pytest.mark.shows("XGB-014")
def test_workers_may_have_a_port_of_their_own() -> None:
    variables = dict(pairs(with_ports({"Master": 1, "Worker": 4}, "wide", Worker=9100), Slot("Worker", 3)))
    assert (variables["MASTER_PORT"], variables["WORKER_PORT"], variables["RANK"]) == ("9999", "9100", "4")
    assert variables["WORKER_ADDRS"] == "wide-worker-0,wide-worker-1,wide-worker-2,wide-worker-3"


def test_without_a_port_there_is_no_environment() -> None:
    with pytest.raises(CannotBuild, match="failed to found the port"):
        environment(make_job("XGBoostJob", {"Worker": 1}), Slot("Worker", 0))


@pytest.mark.shows("XGB-009", "XGB-016", "XGB-018")
def test_only_the_master_has_the_role_and_nothing_is_added() -> None:
    stored = stored_job("XGBoostJob", {"Master": 1, "Worker": 1})
    for spec in stored["spec"]["xgbReplicaSpecs"].values():
        spec["template"] = {"spec": {"containers": [{"name": "xgboost", "image": "i"}, {"name": "log", "image": "i"}]}}
    job = load("XGBoostJob", stored)
    slots = (Slot("Master", 0), Slot("Worker", 0))
    bodies = [build_pod(job, framework_of("XGBoostJob"), NewPod(slot)) for slot in slots]
    roles = [body["metadata"]["labels"].get("training.kubeflow.org/job-role") for body in bodies]
    assert roles == ["master", None]
    for body in bodies:
        assert body["spec"].keys() == {"containers", "restartPolicy"}
        assert [len(container["env"]) for container in body["spec"]["containers"]] == [7, 7]


def run(master: str, worker: str, restart: str = "Never", code: int = 1) -> World:
    w = world("XGBoostJob", {"Master": 1, "Worker": 2}, restart=restart).settle()
    for name, phase in (("master-0", master), ("worker-0", worker), ("worker-1", "Running")):
        w.set_pods(phase, f"sim-{name}", exit_code={"Succeeded": 0, "Failed": code}.get(phase))
    w.step()
    return w


@pytest.mark.shows("XGB-019", "XGB-020", "XGB-021", "XGB-026")
@pytest.mark.parametrize(
    ("phases", "expected", "text"),
    [
        (("Running", "Pending"), ["Created=True", "Running=True"], "is running."),
        (("Pending", "Running"), ["Created=True"], "is created."),
        (("Succeeded", "Running"), ["Running=False", "Created=True", "Succeeded=True"], "is successfully completed."),
        (("Running", "Succeeded"), ["Created=True", "Running=True"], "is running."),
    ],
)
def test_status_rules(phases: tuple[str, str], expected: list[str], text: str) -> None:
    w = run(*phases)
    assert conditions(w.status) == expected
    assert w.status.conditions[-1].message == f"XGBoostJob sim {text}"
    assert (w.status.completion_time == START) is ("Succeeded=True" in expected)


@pytest.mark.shows("XGB-022", "XGB-023")
@pytest.mark.parametrize("restart", ["Never", "OnFailure", "Always"])
def test_a_failed_worker_fails_the_job(restart: str) -> None:
    w = run("Running", "Failed", restart)
    sentence = "XGBoostJob sim is failed because 1 Worker replica(s) failed."
    assert conditions(w.status) == ["Running=False", "Created=True", "Failed=True"]
    assert message(w.status, "Failed").startswith(sentence)
    assert [each.reason for each in w.status.conditions][-1] == "XGBoostJobFailed"
    assert texts(w.events)[-1] == f"Warning XGBoostJobFailed {sentence}"


@pytest.mark.shows("XGB-024")
def test_a_retryable_exit_code_restarts_the_pod() -> None:
    w = run("Pending", "Failed", "ExitCode", code=137)
    assert conditions(w.status) == ["Created=True", "Restarting=True"]
    assert message(w.status, "Restarting") == "XGBoostJob sim is restarting because 1 Worker replica(s) failed."
    assert "sim-worker-0" not in w.pods
    w.settle()
    assert "sim-worker-0" in w.pods


@pytest.mark.shows("XGB-025")
def test_a_permanent_exit_code_fails_the_job() -> None:
    w = run("Running", "Failed", "ExitCode")
    assert message(w.status, "Failed").startswith('job "sim" is failing because "Worker" replica(s) failed.')
    assert w.status.completion_time == START  # mended: v1 left it unset (K-05)


def test_a_master_that_succeeded_decides_although_a_worker_failed_at_the_same_time() -> None:
    assert conditions(run("Succeeded", "Failed").status)[-1] == "Succeeded=True"
