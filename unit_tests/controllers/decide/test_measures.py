"""Measures of statuses: each of them once, by the process that stores the status."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta

import msgspec
import pytest
from unit_tests.controllers.builders import START, World, world

from training_controllers.decide.measures import JobPhase, Measures, RestartCause, measure, phase
from training_controllers.model.annotations import DISRUPTIONS

SCOPE = "extension.training.kubeflow.org/restart-scope"


def job(restart: str = "OnFailure", *, workers: int = 2, **run_policy: object) -> World:
    made = world("PyTorchJob", {"Master": 1, "Worker": workers}, restart=restart, run_policy=run_policy)
    made.stored["metadata"]["creationTimestamp"] = "2026-03-01T12:00:00Z"
    assert made.now == START
    return made


def look(w: World) -> Measures:
    """One reconcile, and what is measured of it."""
    snapshot, plan = w.snapshot(), w.step()
    return measure(snapshot, plan.status) if plan.status is not None else Measures()


def settle(w: World) -> Counter[RestartCause]:
    """Look until nothing is new; the restarts of all looks."""
    total = Counter[RestartCause]()
    for _ in range(8):
        total.update(look(w).restarts)
    return total


def running(w: World) -> World:
    w.settle()
    w.report("Running")
    return w


def test_a_job_starts_once() -> None:
    w = job().settle()
    w.advance(12.5)
    w.set_pods("Running")
    assert look(w).start == 12.5
    assert look(w).start is None
    w.report("Failed", "sim-worker-0", exit_code=1)
    w.set_pods("Running")
    assert look(w).start is None


def test_what_was_created_suspended_starts_when_it_is_resumed() -> None:
    w = job(suspend=True).settle()
    w.advance(3600)
    w.patch(runPolicy={"suspend": False})
    w.settle()
    w.advance(7)
    w.set_pods("Running")
    assert look(w).start == 7
    w.patch(runPolicy={"suspend": True})
    w.settle()
    w.patch(runPolicy={"suspend": False})
    w.settle()
    w.set_pods("Running")
    assert look(w).start is None


@pytest.mark.parametrize(("phase", "code", "succeeded"), [("Succeeded", 0, True), ("Failed", 1, False)])
def test_a_job_ends_once(phase: str, code: int, succeeded: bool) -> None:
    w = running(job("Never"))
    w.advance(90)
    w.set_pods(phase, exit_code=code)
    measures = look(w)
    assert (measures.duration, measures.succeeded) == (90, succeeded)
    assert measure(w.snapshot(), w.status).duration is None


def test_a_failed_replica_that_is_replaced_counts_once() -> None:
    w = running(job(workers=3))
    w.set_pods("Failed", "sim-worker-0", exit_code=1)
    assert settle(w) == {RestartCause.FAILURE: 1}
    w.advance(3600)
    w.set_pods("Running")
    w.set_pods("Failed", "sim-worker-0", "sim-worker-2", exit_code=1)
    assert settle(w) == {RestartCause.FAILURE: 2}


def test_a_replica_that_restarts_later_counts_when_that_is_stored() -> None:
    w = running(job())
    for _ in range(2):
        w.set_pods("Failed", "sim-worker-0", exit_code=1)
        first = look(w).restarts
        w.advance(60)
        assert first == {RestartCause.FAILURE: 1}
        assert settle(w) == {}
        w.report("Running")


def test_a_process_that_comes_later_counts_nothing_again() -> None:
    w = running(job())
    w.set_pods("Failed", "sim-worker-0", exit_code=1)
    snapshot = w.snapshot()
    plan = w.decide()
    assert plan.status is not None
    assert measure(snapshot, plan.status).restarts == {RestartCause.FAILURE: 1}
    w._store(plan.status)  # and the process ends
    w.history.clear()
    assert settle(w) == {}


def test_containers_that_the_kubelet_restarts_count_each_time() -> None:
    w = running(job())
    w.set_pods("Running", "sim-worker-0", restarts=1)
    assert settle(w) == {RestartCause.CONTAINER: 1}
    w.set_pods("Running", "sim-worker-0", "sim-worker-1", restarts=3)
    assert settle(w) == {RestartCause.CONTAINER: 5}


def test_a_replica_that_was_evicted_has_a_cause_of_its_own() -> None:
    """If the job counts such replacements; by default they are no restarts."""
    for own, disruptions in (({}, {}), ({DISRUPTIONS.annotation: "count"}, {RestartCause.DISRUPTION: 1})):
        w = job()
        w.stored["metadata"]["annotations"] = own
        running(w)
        w.set_pods("Failed", "sim-worker-0", "sim-worker-1", exit_code=137)
        w.pods["sim-worker-0"] = msgspec.structs.replace(w.pods["sim-worker-0"], disrupted=True)
        assert settle(w) == {RestartCause.FAILURE: 1} | disruptions


@pytest.mark.parametrize("delayed", [False, True])
def test_a_job_that_restarts_as_a_whole_counts_attempts(delayed: bool) -> None:
    w = job()
    w.stored["metadata"]["annotations"] = {SCOPE: "job"}
    running(w)
    attempts = 2 if delayed else 1
    total = Counter[RestartCause]()
    for _ in range(attempts):
        w.set_pods("Failed", "sim-worker-0", "sim-worker-1", exit_code=1)
        total += settle(w)
        w.advance(30)
        total += settle(w)
        w.set_pods("Running")
        total += settle(w)
    assert total == {RestartCause.SCOPE: attempts}


def test_of_a_job_that_restarts_as_a_whole_containers_count_too() -> None:
    w = job()
    w.stored["metadata"]["annotations"] = {SCOPE: "job"}
    running(w)
    w.set_pods("Running", "sim-worker-0", restarts=1)
    assert settle(w) == {RestartCause.CONTAINER: 1}
    w.set_pods("Running", "sim-worker-1", restarts=1)
    w.set_pods("Failed", "sim-worker-0", exit_code=1, restarts=1)
    assert settle(w) == {RestartCause.CONTAINER: 1, RestartCause.SCOPE: 1}


def test_a_type_that_is_new_has_not_restarted() -> None:
    w = job()
    types = w.stored["spec"]["pytorchReplicaSpecs"]
    workers = types.pop("Worker")
    running(w)
    types["Worker"] = workers
    assert settle(w) == {}


def test_what_ends_the_job_is_no_restart() -> None:
    w = running(job("ExitCode", backoffLimit=1))
    w.set_pods("Failed", "sim-worker-0", exit_code=137)
    assert settle(w) == {}
    assert phase(w.status) == JobPhase("failed")


def test_under_the_crds_of_v1_a_new_process_has_nothing_to_compare_with() -> None:
    w = running(job())
    w.report("Running", "sim-worker-0", restarts=5)
    replicas = {name: each.model_copy(update={"restarts": 0}) for name, each in w.status.replica_statuses.items()}
    w.status = w.status.model_copy(update={"observed_generation": None, "replica_statuses": replicas})
    assert look(w).restarts == {}


def test_clocks_that_jump_back_give_no_negative_times() -> None:
    w = job().settle()
    w.now -= timedelta(hours=1)
    w.set_pods("Running")
    assert look(w).start == 0


def test_a_job_stands_where_its_newest_true_condition_says() -> None:
    w = job()
    assert phase(w.status) == JobPhase()
    w.settle()
    assert phase(w.status).state == "created"
    running(w)
    assert phase(w.status) == JobPhase("running")
    w.patch(runPolicy={"suspend": True})
    w.settle()
    assert phase(w.status) == JobPhase("suspended")


def test_the_phase_says_what_the_job_waits_for() -> None:
    w = job().settle()
    w.pods["sim-worker-0"] = msgspec.structs.replace(w.pods["sim-worker-0"], condition_reason="Unschedulable")
    w.settle()
    assert phase(w.status) == JobPhase("created", "Unschedulable")
    assert w.status.waiting is not None
    unknown = w.status.waiting.model_copy(update={"reason": "WordsOfOthers"})
    assert phase(w.status.model_copy(update={"waiting": unknown})) == JobPhase("created")


def test_the_duration_counts_from_the_last_resumption() -> None:
    w = running(job())
    w.advance(100)
    w.patch(runPolicy={"suspend": True})
    w.settle()
    w.patch(runPolicy={"suspend": False})
    running(w)
    w.advance(5)
    w.set_pods("Succeeded", exit_code=0)
    assert look(w).duration == 5


def test_without_the_time_of_its_creation_a_job_has_no_start_and_may_have_no_duration() -> None:
    w = job()
    del w.stored["metadata"]["creationTimestamp"]
    w.settle()
    w.set_pods("Running")
    assert look(w).start is None
    w.set_pods("Succeeded", exit_code=0)
    snapshot, plan = w.snapshot(), w.decide()
    assert plan.status is not None
    assert measure(snapshot, plan.status).duration == 0
    assert measure(snapshot, plan.status.model_copy(update={"start_time": None})).duration is None
    assert measure(snapshot, plan.status.model_copy(update={"completion_time": None})).duration is None
