"""JAXJob: environment, roles, status rules."""

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

from training_controllers.frameworks.jax import environment
from training_controllers.model.plan import NewPod, Slot
from training_controllers.model.pod_spec import CannotBuild
from training_controllers.reconcile.builders import build_pod


@pytest.mark.shows("JAX-009", "JAX-010", "JAX-012")
@pytest.mark.parametrize("index", [0, 1])
def test_workers_get_their_coordinator_and_rank(index: int) -> None:
    job = make_job("JAXJob", {"Worker": 2}, name="jaxjob-simple")
    assert [(v["name"], v["value"]) for v in environment(job, Slot("Worker", index))] == [
        ("PYTHONUNBUFFERED", "1"),
        ("COORDINATOR_PORT", "6666"),
        ("COORDINATOR_ADDRESS", "jaxjob-simple-worker-0"),
        ("NUM_PROCESSES", "2"),
        ("PROCESS_ID", str(index)),
    ]


@pytest.mark.shows("JAX-011")
def test_the_coordinator_port_is_the_declared_one() -> None:
    stored = stored_job("JAXJob", {"Worker": 4}, name="spmd")
    container = stored["spec"]["jaxReplicaSpecs"]["Worker"]["template"]["spec"]["containers"][0]
    container["ports"] = [{"name": "jaxjob-port", "containerPort": 7777}]
    variables = {v["name"]: v["value"] for v in environment(load("JAXJob", stored), Slot("Worker", 3))}
    assert variables == {
        "PYTHONUNBUFFERED": "1",
        "COORDINATOR_PORT": "7777",
        "COORDINATOR_ADDRESS": "spmd-worker-0",
        "NUM_PROCESSES": "4",
        "PROCESS_ID": "3",
    }


@pytest.mark.shows("JAX-013")
@pytest.mark.parametrize("containers", [[], [{"name": "other", "image": "i"}]])
def test_without_the_default_port_there_is_no_environment(containers: list[dict[str, str]]) -> None:
    stored = stored_job("JAXJob", {"Worker": 1})
    stored["spec"]["jaxReplicaSpecs"]["Worker"]["template"] = {"spec": {"containers": containers}}
    with pytest.raises(CannotBuild, match="default container port is not exposed"):
        environment(load("JAXJob", stored), Slot("Worker", 0))


@pytest.mark.shows("JAX-013")
def test_without_workers_there_is_no_environment() -> None:
    with pytest.raises(CannotBuild, match="default container port is not exposed"):
        environment(make_job("JAXJob", {}), Slot("Worker", 0))


@pytest.mark.shows("JAX-015", "JAX-016", "JAX-026")
def test_worker_0_alone_has_the_role_and_nothing_is_added() -> None:
    job = make_job("JAXJob", {"Worker": 2})
    bodies = [build_pod(job, framework_of("JAXJob"), NewPod(Slot("Worker", index))) for index in range(2)]
    assert [body["metadata"]["name"] for body in bodies] == ["sim-worker-0", "sim-worker-1"]
    roles = [body["metadata"]["labels"].get("training.kubeflow.org/job-role") for body in bodies]
    assert roles == ["master", None]
    assert all("initContainers" not in body["spec"] for body in bodies)
    assert all(len(body["spec"]["containers"][0]["env"]) == 5 for body in bodies)


def run(phases: list[str], restart: str = "Never", code: int = 1) -> World:
    w = world("JAXJob", {"Worker": len(phases)}, restart=restart).settle()
    for index, phase in enumerate(phases):
        w.set_pods(phase, f"sim-worker-{index}", exit_code={"Succeeded": 0, "Failed": code}.get(phase))
    w.step()
    return w


@pytest.mark.shows("JAX-017", "JAX-018", "JAX-019")
@pytest.mark.parametrize(
    ("phases", "expected", "text"),
    [
        (["Succeeded", "Succeeded"], "Succeeded", "JAXJob ns/sim successfully completed."),
        (["Running", "Pending"], "Running", "JAXJob ns/sim is running."),
        (["Succeeded", "Running"], "Running", "JAXJob ns/sim is running."),
        (["Succeeded", "Pending"], "Created", "JAXJob sim is created."),
    ],
)
def test_status_rules(phases: list[str], expected: str, text: str) -> None:
    w = run(phases)
    assert conditions(w.status)[-1] == f"{expected}=True"
    assert w.status.conditions[-1].message == text
    assert (w.status.completion_time == START) is (expected == "Succeeded")


@pytest.mark.shows("JAX-020")
def test_a_failed_worker_fails_the_job() -> None:
    w = run(["Running", "Failed"])
    sentence = "JAXJob sim is failed because 1 Worker replica(s) failed."
    assert conditions(w.status) == ["Running=False", "Created=True", "Failed=True"]
    assert message(w.status, "Failed") == f"{sentence} Pod sim-worker-1: container jax exited with code 1 (Error)"
    assert texts(w.events)[-1] == f"Warning JAXJobFailed {sentence}"


@pytest.mark.shows("JAX-021")
def test_a_failed_worker_that_may_restart_is_replaced() -> None:
    w = run(["Running", "Failed"], restart="OnFailure")
    assert message(w.status, "Restarting") == "JAXJob sim is restarting because 1 Worker replica(s) failed."
    assert list(w.pods) == ["sim-worker-0"]
    w.settle()
    assert conditions(w.status) == ["Created=True", "Running=True"]


@pytest.mark.shows("JAX-022")
def test_a_permanent_exit_code_fails_the_job() -> None:
    w = run(["Running", "Failed"], restart="ExitCode")
    assert message(w.status, "Failed").startswith('job "sim" is failing because "Worker" replica(s) failed.')
