"""Backoff limit, active deadline, and what becomes of the pods of a job that exceeded one."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from unit_tests.controllers.builders import START, World, conditions, message, texts, world

from training_controllers.model.plan import Counter
from training_controllers.model.records import ContainerState

BACKOFF = "Job sim has failed because it has reached the specified backoff limit"
DEADLINE = "Job sim has failed because it was active longer than specified deadline"


def running(kind: str, replicas: dict[str, int], restart: str | None = "OnFailure", **run_policy: Any) -> World:
    w = world(kind, replicas, restart=restart, run_policy=run_policy).settle().report("Running")
    return w


def has_failed(w: World) -> bool:
    return conditions(w.status)[-1] == "Failed=True"


@pytest.mark.shows("E-090")
def test_without_a_limit_restarts_never_fail_the_job() -> None:
    w = running("JAXJob", {"Worker": 1})
    w.report("Running", restarts=1000)
    assert not has_failed(w)


@pytest.mark.shows("E-091", "E-092")
@pytest.mark.parametrize(
    ("limit", "restarts", "fails"),
    [(0, 0, False), (0, 1, True), (1, 0, False), (1, 1, True), (3, 2, False), (3, 3, True), (3, 4, True),
     (-1, 0, False)],
)  # fmt: skip
def test_the_job_fails_at_the_limit(limit: int, restarts: int, fails: bool) -> None:
    w = running("JAXJob", {"Worker": 1}, backoffLimit=limit)
    w.report("Running", restarts=restarts)
    assert has_failed(w) is fails


@pytest.mark.shows("K-56", "K-60", "E-091")
def test_restarts_of_all_pods_add_up() -> None:
    w = running("JAXJob", {"Worker": 4}, backoffLimit=4)
    w.set_pods("Running", restarts=1)
    plan = w.step()
    assert message(plan.status, "Failed") == BACKOFF
    assert conditions(plan.status) == ["Running=False", "Created=True", "Failed=True"]
    assert plan.status is not None
    assert plan.status.completion_time == START
    assert plan.status.replica_statuses["Worker"].restarts == 4
    # K-56, K-60
    assert texts(plan.events) == [f"Warning JAXJobFailed {BACKOFF}"]
    assert plan.counters == (Counter.FAILED,)


@pytest.mark.shows("E-093")
def test_restarts_of_types_that_never_restart_are_ignored() -> None:
    w = running("JAXJob", {"Worker": 1}, restart="Never", backoffLimit=1)
    w.report("Running", restarts=5)
    assert not has_failed(w)


@pytest.mark.shows("K-04", "E-094")
def test_init_containers_of_pending_pods_count() -> None:
    w = world("JAXJob", {"Worker": 1}, restart="OnFailure", run_policy={"backoffLimit": 2}).settle()
    w.pods["sim-worker-0"] = msgspec.structs.replace(
        w.pods["sim-worker-0"], containers=(ContainerState("init", init=True, restarts=2),)
    )
    w.settle()
    assert has_failed(w)


@pytest.mark.shows("E-095")
@pytest.mark.parametrize("restart", ["Never", "OnFailure", "ExitCode"])
def test_with_limit_0_a_failed_pod_fails_the_job_with_the_backoff_message(restart: str) -> None:
    w = running("JAXJob", {"Worker": 2}, restart=restart, backoffLimit=0)
    w.set_pods("Failed", "sim-worker-1", exit_code=1)
    plan = w.step()
    text = message(plan.status, "Failed")
    assert text == f"{BACKOFF}. Pod sim-worker-1: container jax exited with code 1 (Error)"
    assert [event.reason for event in plan.events] == ["ExitedWithCode", "JAXJobFailed"]
    assert plan.delete_pods == ()


def test_with_a_higher_limit_a_replica_that_may_not_restart_fails_the_job_by_itself() -> None:
    w = running("JAXJob", {"Worker": 2}, restart="Never", backoffLimit=1)
    w.report("Failed", "sim-worker-1", exit_code=1)
    assert has_failed(w)
    assert BACKOFF not in message(w.status, "Failed")


@pytest.mark.shows("K-03")
def test_recreations_count_towards_the_limit() -> None:
    w = running("JAXJob", {"Worker": 2}, restart="ExitCode", backoffLimit=2)
    w.report("Failed", "sim-worker-1", exit_code=137)
    assert not has_failed(w)
    w.report("Running")
    w.set_pods("Failed", "sim-worker-0", exit_code=137)
    plan = w.step()
    assert has_failed(w)
    assert plan.delete_pods == ()
    assert plan.requeue_after == 0
    assert w.status.replica_statuses["Worker"].restarting_indexes == "0"
    w.settle()
    assert w.status.replica_statuses["Worker"].restarting_indexes == ""


@pytest.mark.shows("E-097", "E-098", "E-099")
@pytest.mark.parametrize(("deadline", "elapsed", "past"), [(10, 9, False), (10, 10, True), (0, 0, True), (-5, 0, True)])
def test_the_deadline_counts_from_the_start_time(deadline: int, elapsed: int, past: bool) -> None:
    w = world("JAXJob", {"Worker": 1}, run_policy={"activeDeadlineSeconds": deadline})
    w.step()  # E-099: no start time yet, so no deadline
    assert not has_failed(w)
    w.advance(elapsed)
    w.step()
    assert has_failed(w) is past
    if past:
        assert message(w.status, "Failed") == DEADLINE
        assert w.counters[-1] == Counter.FAILED


@pytest.mark.shows("K-02")
def test_the_deadline_has_a_timer() -> None:
    w = world("JAXJob", {"Worker": 1}, run_policy={"activeDeadlineSeconds": 60})
    assert w.step().requeue_after == 60
    w.advance(20)
    assert w.step().requeue_after == 40


@pytest.mark.shows("K-02")
def test_the_nearest_deadline_wins() -> None:
    w = running("JAXJob", {"Worker": 1}, activeDeadlineSeconds=15)
    w.set_pods("Failed", exit_code=1)
    w.pods["sim-worker-0"] = msgspec.structs.replace(w.pods["sim-worker-0"], backoff_level=2)
    assert w.step().requeue_after == 15
    w.pods["sim-worker-0"] = msgspec.structs.replace(w.pods["sim-worker-0"], backoff_level=1)
    assert w.step().requeue_after == 10


def test_a_deadline_beyond_the_calendar_never_comes() -> None:
    w = running("JAXJob", {"Worker": 1}, activeDeadlineSeconds=2**63 - 1)
    assert w.step().requeue_after is None


def test_the_backoff_limit_is_named_before_the_deadline() -> None:
    w = running("JAXJob", {"Worker": 1}, backoffLimit=1, activeDeadlineSeconds=5)
    w.set_pods("Running", restarts=1)
    w.advance(5)
    w.step()
    assert message(w.status, "Failed") == BACKOFF


@pytest.mark.shows("K-17")
def test_the_failure_is_stored_before_anything_is_deleted() -> None:
    w = running("JAXJob", {"Worker": 2}, backoffLimit=1, cleanPodPolicy="All")
    w.set_pods("Running", restarts=1)
    plan = w.step()
    assert plan.delete_pods == () == plan.delete_services
    assert plan.requeue_after == 0
    assert w.status.replica_statuses["Worker"].active == 2
    w.settle()
    assert w.pods == {} == w.services
    assert w.status.replica_statuses["Worker"].active == 0


@pytest.mark.shows("K-18")
@pytest.mark.parametrize("limits", [{"backoffLimit": 1}, {"activeDeadlineSeconds": 5}])
def test_without_a_policy_active_pods_of_a_job_over_a_limit_go(limits: dict[str, Any]) -> None:
    w = running("PyTorchJob", {"Master": 1, "Worker": 2}, **limits)
    w.set_pods("Succeeded", "sim-worker-0", exit_code=0)
    w.set_pods("Running", "sim-worker-1", restarts=1)
    w.advance(5)
    w.settle()
    assert has_failed(w)
    assert list(w.pods) == ["sim-worker-0"]
    assert w.services == {}
    assert [event.reason for event in w.events] == ["ExitedWithCode", "PyTorchJobFailed"]
    assert w.status.replica_statuses["Worker"].active == 0
    assert w.status.replica_statuses["Worker"].restarts == 1


@pytest.mark.shows("K-18", "E-087")
def test_an_explicit_none_keeps_them_with_one_warning() -> None:
    w = running("PyTorchJob", {"Master": 1, "Worker": 2}, activeDeadlineSeconds=5, cleanPodPolicy="None")
    w.advance(5)
    w.settle()
    w.settle()
    assert len(w.pods) == 3 == len(w.services)
    assert texts(w.events) == [
        f"Warning PyTorchJobFailed {DEADLINE}",
        "Warning PodsKeptRunning 3 pod(s) of the failed job keep running and hold their resources because "
        "cleanPodPolicy is None",
    ]
    assert w.status.replica_statuses["Worker"].active == 2


def test_pods_that_hold_no_resources_are_not_warned_of() -> None:
    w = running("JAXJob", {"Worker": 2}, backoffLimit=0, cleanPodPolicy="None")
    w.report("Failed", "sim-worker-1", exit_code=1)
    assert texts(w.events)[-1].startswith("Warning PodsKeptRunning 1 pod(s) ")
    w = running("JAXJob", {"Worker": 1}, backoffLimit=0, cleanPodPolicy="None")
    w.report("Failed", exit_code=1)
    assert has_failed(w)
    assert "PodsKeptRunning" not in [event.reason for event in w.events]


@pytest.mark.shows("E-088")
@pytest.mark.parametrize(("policy", "left"), [("All", []), ("Running", ["sim-worker-0"])])
def test_the_policy_applies_to_a_job_over_a_limit(policy: str, left: list[str]) -> None:
    w = running("PyTorchJob", {"Master": 1, "Worker": 2}, activeDeadlineSeconds=5, cleanPodPolicy=policy)
    w.set_pods("Succeeded", "sim-worker-0", exit_code=0)
    w.advance(5)
    w.settle()
    assert list(w.pods) == left


@pytest.mark.shows("K-18")
def test_a_failed_job_that_did_not_exceed_a_limit_keeps_its_pods() -> None:
    w = running("PyTorchJob", {"Master": 1, "Worker": 1}, restart="Never", activeDeadlineSeconds=50)
    w.report("Failed", "sim-worker-0", exit_code=1)
    assert has_failed(w)
    assert list(w.pods) == ["sim-master-0", "sim-worker-0"]
    assert list(w.services) == ["sim-master-0"]


@pytest.mark.shows("K-62")
def test_a_resume_starts_the_deadline_again() -> None:
    w = running("JAXJob", {"Worker": 1}, activeDeadlineSeconds=60)
    w.patch(runPolicy={"activeDeadlineSeconds": 60, "suspend": True})
    w.settle()
    assert w.requeue_after is None
    w.advance(1000)
    w.patch(runPolicy={"activeDeadlineSeconds": 60, "suspend": False})
    assert w.step().requeue_after == 60
    w.settle()
    assert not has_failed(w)
