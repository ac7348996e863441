"""Suspending and resuming."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from unit_tests.controllers.builders import START, World, conditions, message, texts, world

from training_api.models.common import ConditionStatus, JobCondition
from training_controllers.model.plan import Plan


def suspend(w: World, on: bool = True) -> None:
    w.patch(runPolicy={**w.stored["spec"]["runPolicy"], "suspend": on})


def running(kind: str = "PyTorchJob", **run_policy: Any) -> World:
    w = world(kind, {"Worker": 2}, run_policy=run_policy).settle().report("Running")
    return w


@pytest.mark.shows("E-109", "JAX-024")
@pytest.mark.parametrize("kind", ["PyTorchJob", "JAXJob"])
def test_a_job_created_suspended_gets_no_pods(kind: str) -> None:
    w = world(kind, {"Worker": 1}, run_policy={"suspend": True}).settle()
    assert w.pods == {} == w.services
    assert w.status.start_time is None
    assert w.status.replica_statuses == {}
    assert conditions(w.status) == ["Created=True", "Suspended=True"]
    assert texts(w.events) == [f"Normal {kind}Suspended {kind} sim is suspended."]


@pytest.mark.shows("E-086", "E-110", "PT-046", "JAX-025")
@pytest.mark.parametrize("kind", ["PyTorchJob", "JAXJob"])
@pytest.mark.parametrize("policy", ["None", "Running", "All"])
def test_suspending_a_running_job(kind: str, policy: str) -> None:
    w = running(kind, cleanPodPolicy=policy)
    w.advance(5)
    suspend(w)
    w.settle()
    assert w.pods == {} == w.services
    assert conditions(w.status) == ["Running=False", "Created=True", "Suspended=True"]
    by_type = {condition.type: condition for condition in w.status.conditions}
    assert by_type["Running"].reason == by_type["Suspended"].reason == f"{kind}Suspended"
    assert message(w.status, "Running") == message(w.status, "Suspended") == f"{kind} sim is suspended."
    assert w.status.start_time == START
    assert w.status.replica_statuses["Worker"].active == 0
    assert w.status.replica_statuses["Worker"].ready == 0


@pytest.mark.shows("K-48", "E-112")
def test_the_event_comes_once() -> None:
    w = running()
    suspend(w)
    w.settle()
    assert w.step() == Plan()
    assert len(w.events) == 1


@pytest.mark.shows("E-111", "PT-047", "JAX-025")
def test_resuming_starts_the_deadline_and_the_pods_again() -> None:
    w = running()
    suspend(w)
    w.settle()
    w.advance(100)
    suspend(w, False)
    w.settle()
    assert len(w.pods) == 2 == len(w.services)
    assert w.status.start_time == w.now
    assert conditions(w.status) == ["Running=False", "Suspended=False", "Created=True"]
    assert message(w.status, "Suspended") == "PyTorchJob sim is resumed."
    assert next(c for c in w.status.conditions if c.type == "Suspended").reason == "PyTorchJobResumed"
    assert texts(w.events)[-1] == "Normal PyTorchJobResumed PyTorchJob sim is resumed."
    w.report("Running")
    assert conditions(w.status) == ["Suspended=False", "Created=True", "Running=True"]
    assert len(w.events) == 2


@pytest.mark.shows("K-09", "E-114")
@pytest.mark.parametrize("phase", ["Running", "Failed", "Succeeded"])
def test_pods_that_still_stop_at_resume_do_not_count(phase: str) -> None:
    w = running("JAXJob")
    w.lingering = True
    suspend(w)
    w.settle()
    w.set_pods(phase, exit_code=None if phase == "Running" else 0)
    suspend(w, False)
    w.settle()
    worker = w.status.replica_statuses["Worker"]
    assert (worker.active, worker.failed, worker.succeeded, worker.completed_indexes) == (0, 0, 0, "")
    w.finish_deletions()
    w.settle()
    assert [pod.phase for pod in w.pods.values()] == ["Pending", "Pending"]


def test_restarts_and_completed_indexes_survive_a_suspension() -> None:
    w = world("JAXJob", {"Worker": 2}, restart="OnFailure").settle()
    w.set_pods("Running", "sim-worker-0", restarts=3)
    w.report("Succeeded", "sim-worker-1", exit_code=0)
    suspend(w)
    w.settle()
    assert w.status.replica_statuses["Worker"].restarts == 3
    suspend(w, False)
    w.settle()
    assert list(w.pods) == ["sim-worker-0"]
    assert w.pods["sim-worker-0"].restarts_before == 3
    worker = w.status.replica_statuses["Worker"]
    assert (worker.restarts, worker.succeeded, worker.completed_indexes) == (3, 1, "1")


@pytest.mark.parametrize(("restart", "completed"), [("OnFailure", "2"), ("Always", "")])
def test_of_the_counters_only_those_of_active_pods_fall(restart: str, completed: str) -> None:
    w = world("PyTorchJob", {"Worker": 3}, restart=restart).settle().report("Running")
    w.pods["sim-worker-0"] = msgspec.structs.replace(w.pods["sim-worker-0"], backoff_level=1)
    w.set_pods("Failed", "sim-worker-0", exit_code=1)
    w.report("Succeeded", "sim-worker-2", exit_code=0)
    worker = w.status.replica_statuses["Worker"]
    assert (worker.active, worker.ready, worker.succeeded, worker.failed) == (1, 1, 1, 1)
    assert (worker.restarts, worker.completed_indexes, worker.restarting_indexes) == (1, completed, "0")
    suspend(w)
    w.step()
    assert (w.status.replica_statuses["Worker"].active, w.status.replica_statuses["Worker"].ready) == (0, 0)
    w.settle()
    stopped = {"active": 0, "ready": 0, "restarting_indexes": ""}
    assert w.status.replica_statuses == {"Worker": worker.model_copy(update=stopped)}


@pytest.mark.shows("K-03")
def test_every_slot_keeps_its_own_restarts_over_a_suspension() -> None:
    w = running("JAXJob")
    for index in range(2):
        w.set_pods("Running", f"sim-worker-{index}", restarts=index + 1)
    for on in (True, False):
        suspend(w, on)
        w.settle()
    assert [pod.restarts_before for pod in w.pods.values()] == [1, 2]


def test_a_finished_job_is_not_resumed() -> None:
    w = world("JAXJob", {"Worker": 1}).settle()
    w.report("Succeeded", exit_code=0)
    once_suspended = JobCondition(type="Suspended", status=ConditionStatus.TRUE, reason="JAXJobSuspended")
    w.status = w.status.model_copy(update={"conditions": (once_suspended, *w.status.conditions)})
    w.advance(9)
    assert w.step() == Plan()


def test_stray_pods_go_too() -> None:
    w = running()
    stray = w.pods.pop("sim-worker-1")
    w.pods["stray"] = msgspec.structs.replace(stray, name="stray", index=-1)
    suspend(w)
    w.settle()
    assert w.pods == {}
