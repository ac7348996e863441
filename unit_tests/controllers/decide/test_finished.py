"""A finished job: clean-up, last counters, time to live."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import msgspec
import pytest
from unit_tests.controllers.builders import START, World, conditions, texts, world

from training_api.models.common import ConditionStatus, JobCondition, JobStatus, ReplicaStatus
from training_controllers.model.plan import Counter, Plan


def succeeded(run_policy: dict[str, Any] | None = None) -> World:
    """A PyTorchJob whose Master has succeeded, one worker too, while another one runs and a third is Pending."""
    w = world("PyTorchJob", {"Master": 1, "Worker": 3}, run_policy=run_policy).settle()
    w.set_pods("Running", "sim-master-0", "sim-worker-1")
    w.report("Succeeded", "sim-worker-0", exit_code=0)
    w.set_pods("Succeeded", "sim-master-0", exit_code=0)
    return w


@pytest.mark.shows("K-17")
def test_success_is_stored_before_anything_is_deleted() -> None:
    w = succeeded({"cleanPodPolicy": "All"})
    plan = w.step()
    assert not (plan.delete_pods or plan.delete_services or plan.create_pods)
    assert plan.requeue_after == 0
    assert plan.counters == (Counter.SUCCESSFUL,)
    w.settle()
    assert w.pods == {} == w.services
    assert w.counters.count(Counter.SUCCESSFUL) == 1


@pytest.mark.shows("K-36", "E-083", "E-084", "E-085")
@pytest.mark.parametrize(
    ("policy", "pods", "services"),
    [
        ("All", [], []),
        ("Running", ["sim-master-0", "sim-worker-0"], []),
        ("None", ["sim-master-0", "sim-worker-0", "sim-worker-1", "sim-worker-2"], ["sim-worker-1", "sim-worker-2"]),
        (None, ["sim-master-0", "sim-worker-0", "sim-worker-1", "sim-worker-2"], ["sim-worker-1", "sim-worker-2"]),
        ("Whatever", [], []),  # E-089: stored before there was an enumeration
    ],
)
def test_what_the_policy_leaves(policy: str | None, pods: list[str], services: list[str]) -> None:
    w = succeeded({"cleanPodPolicy": policy}).settle()
    assert list(w.pods) == pods
    assert list(w.services) == services


@pytest.mark.parametrize(("policy", "warnings"), [("None", 1), (None, 1), ("Running", 0)])
def test_one_warning_tells_of_kept_pods_that_have_not_started(policy: str | None, warnings: int) -> None:
    w = succeeded({"cleanPodPolicy": policy} if policy else {}).settle()
    w.settle()
    events = [event for event in w.events if event.reason == "PodsKeptRunning"]
    sentence = "1 pod(s) of the finished job have not started, still wait and hold their resources"
    assert texts(events) == [f"Warning PodsKeptRunning {sentence} because cleanPodPolicy is None"] * warnings


@pytest.mark.shows("K-36")
def test_the_last_services_go_when_the_kept_pods_end() -> None:
    w = succeeded().settle()
    w.report("Succeeded", exit_code=0)
    assert w.services == {}
    assert len(w.pods) == 4


def large() -> World:
    """A PyTorchJob of 25 replicas that has succeeded by its Master, while its workers still run."""
    w = world("PyTorchJob", {"Master": 1, "Worker": 24}).settle()
    w.report("Running", *w.pods)
    w.report("Succeeded", "sim-master-0", exit_code=0)
    return w


@pytest.mark.shows("K-36")
def test_services_of_a_large_job_wait_for_its_last_pods_and_go_together() -> None:
    w = large()
    plan = w.step()
    assert (len(w.services), plan.delete_services, plan.requeue_after) == (25, (), 60.0)
    w.set_pods("Succeeded", *(name for name in w.pods if "worker" in name), exit_code=0)
    assert len(w.step().delete_services) == 25


@pytest.mark.shows("K-36")
def test_services_of_a_large_job_do_not_wait_for_ever() -> None:
    w = large()
    w.now += timedelta(seconds=60)
    assert [service.name for service in w.step().delete_services] == ["sim-master-0"]


@pytest.mark.shows("E-081")
def test_what_was_active_counts_as_succeeded() -> None:
    """The status that ends the job says so already: v1 writes another one for that."""
    w = succeeded()
    w.step()
    worker = w.status.replica_statuses["Worker"]
    assert (worker.active, worker.ready, worker.succeeded) == (0, 0, 2)
    assert w.step().status is None


def test_of_a_finished_job_no_replica_is_about_to_restart() -> None:
    w = succeeded()
    w.stored["spec"]["pytorchReplicaSpecs"]["Worker"]["restartPolicy"] = "OnFailure"
    w.set_pods("Failed", "sim-worker-1", exit_code=1)
    w.step()
    worker = w.status.replica_statuses["Worker"]
    assert (worker.failed, worker.restarts, worker.restarting_indexes) == (1, 1, "1")
    w.settle()
    assert w.status.replica_statuses["Worker"] == worker.model_copy(update={"restarting_indexes": ""})


def failed_with_two_active() -> World:
    w = world("JAXJob", {"Worker": 3}).settle()
    w.set_pods("Running")
    w.report("Failed", "sim-worker-0", exit_code=1)
    assert conditions(w.status)[-1] == "Failed=True"
    return w


@pytest.mark.shows("K-42")
def test_a_failed_job_counts_only_pods_that_still_run() -> None:
    w = failed_with_two_active().settle()
    worker = w.status.replica_statuses["Worker"]
    assert (worker.active, worker.ready, worker.failed) == (2, 2, 1)
    w.report("Succeeded", "sim-worker-1", exit_code=0)
    assert w.status.replica_statuses["Worker"].active == 1
    w.delete("sim-worker-2")
    w.settle()
    worker = w.status.replica_statuses["Worker"]
    assert (worker.active, worker.ready, worker.failed, worker.succeeded) == (0, 0, 1, 0)


@pytest.mark.shows("K-42")
def test_of_a_failed_job_a_stray_pod_is_not_active() -> None:
    w = failed_with_two_active()
    w.pods["stray"] = msgspec.structs.replace(w.pods["sim-worker-1"], name="stray", uid="stray", index=-1)
    w.settle()
    assert w.status.replica_statuses["Worker"].active == 2


def test_pods_that_appear_later_are_cleaned_up_too() -> None:
    w = succeeded({"cleanPodPolicy": "All"})
    late = w.pods["sim-worker-1"]
    w.settle()
    w.pods[late.name] = late
    w.settle()
    assert w.pods == {}


def test_terminating_pods_are_not_deleted_again() -> None:
    w = succeeded({"cleanPodPolicy": "All"})
    w.lingering = True
    w.settle()
    assert w.step() == Plan()
    assert all(pod.deleting for pod in w.pods.values())


@pytest.mark.shows("E-113")
def test_suspending_a_finished_job_changes_nothing() -> None:
    w = succeeded().settle()
    before = w.status.conditions
    w.patch(runPolicy={"suspend": True})
    w.settle()
    assert w.status.conditions == before
    assert len(w.pods) == 4


def test_a_finished_job_says_nothing_about_its_pods() -> None:
    w = succeeded().settle()
    before = len(w.events)
    w.report("Running", "sim-worker-1", exit_code=1)
    assert len(w.events) == before


@pytest.mark.shows("E-102")
def test_without_time_to_live_the_job_stays() -> None:
    w = succeeded().settle()
    assert w.requeue_after is None
    w.advance(10**9)
    w.settle()
    assert not w.deleted


@pytest.mark.shows("K-16", "E-103", "E-104")
@pytest.mark.parametrize("suspend", [False, True])
def test_the_job_is_deleted_when_its_time_is_over(suspend: bool) -> None:
    w = succeeded({"ttlSecondsAfterFinished": 100}).settle()
    w.patch(runPolicy={"ttlSecondsAfterFinished": 100, "suspend": suspend})
    w.advance(40)
    w.step()
    assert (w.deleted, w.requeue_after) == (False, 60)
    w.advance(60)
    w.step()
    assert (w.deleted, w.requeue_after) == (True, None)


@pytest.mark.shows("E-105")
def test_a_time_to_live_of_0_ends_in_the_pass_after_the_status_is_stored() -> None:
    w = succeeded({"ttlSecondsAfterFinished": 0})
    assert not w.step().delete_job
    assert w.step().delete_job


@pytest.mark.shows("K-05")
def test_a_permanent_exit_code_starts_the_time_to_live() -> None:
    w = world("JAXJob", {"Worker": 1}, restart="ExitCode", run_policy={"ttlSecondsAfterFinished": 10}).settle()
    w.report("Failed", exit_code=2)
    assert w.requeue_after == 10
    w.advance(10)
    w.step()
    assert w.deleted


@pytest.mark.shows("K-05", "E-106")
@pytest.mark.parametrize("kind", ["Failed", "Succeeded"])
@pytest.mark.parametrize("known", [True, False])
def test_a_job_that_v1_left_without_completion_time_gets_one(kind: str, known: bool) -> None:
    w = world("JAXJob", {"Worker": 1}, run_policy={"ttlSecondsAfterFinished": 10})
    failed = START - timedelta(seconds=7)
    end = JobCondition(
        type=kind, status=ConditionStatus.TRUE, reason=f"JAXJob{kind}", last_transition_time=failed if known else None
    )
    w.status = JobStatus(conditions=(end,), replica_statuses={"Worker": ReplicaStatus(failed=1)})
    plan = w.step()
    assert plan.status is not None
    assert plan.status.completion_time == (failed if known else START)
    assert plan.requeue_after == (3 if known else 10)
    assert plan.counters == () == plan.events


@pytest.mark.shows("K-42")
def test_a_finished_job_of_the_go_operator_loses_entries_of_removed_types() -> None:
    w = world("JAXJob", {"Worker": 1})
    done = JobCondition(type="Succeeded", status=ConditionStatus.TRUE, reason="JAXJobSucceeded")
    w.status = JobStatus(
        conditions=(done,),
        completion_time=START,
        replica_statuses={"Worker": ReplicaStatus(active=1), "Master": ReplicaStatus(active=1)},
    )
    w.settle()
    assert w.status.replica_statuses == {"Worker": ReplicaStatus(succeeded=1)}
