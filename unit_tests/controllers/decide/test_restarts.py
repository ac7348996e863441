"""Failed pods: which are replaced, when, and how restarts are counted (K-03, K-04, K-27)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import msgspec
import pytest
from unit_tests.controllers.builders import START, World, conditions, message, pod, texts, world

from training_api.models.common import RestartPolicy
from training_controllers.model.plan import Counter, RestartHistory, Slot
from training_controllers.model.records import ContainerState
from training_controllers.observe import restarts
from training_controllers.observe.pod_failures import exit_code, may_restart

RESTARTING = "Warning PyTorchJobRestarting"
WITH_NUMBER = f"{RESTARTING} PyTorchJob sim is restarting because 1 Worker replica(s) failed."


def running(restart: str | None = None, **options: Any) -> World:
    """A PyTorchJob with a Master and a Worker, all running."""
    w = world("PyTorchJob", {"Master": 1, "Worker": 1}, restart=restart, **options).settle().report("Running")
    return w


def fail_again(w: World, name: str = "sim-worker-0", *, code: int = 137, after: float = 1) -> None:
    w.advance(after)
    w.report("Running", name)
    w.set_pods("Failed", name, exit_code=code)


@pytest.mark.shows("E-036", "E-038", "E-040")
@pytest.mark.parametrize(
    ("policy", "code", "restarts_it"),
    [
        (RestartPolicy.EXIT_CODE, 0, False),  # a sidecar failed
        (RestartPolicy.EXIT_CODE, 1, False),
        (RestartPolicy.EXIT_CODE, 2, False),
        (RestartPolicy.EXIT_CODE, 127, False),
        (RestartPolicy.EXIT_CODE, 128, True),
        (RestartPolicy.EXIT_CODE, 130, True),
        (RestartPolicy.EXIT_CODE, 138, True),
        (RestartPolicy.EXIT_CODE, None, True),  # E-038: evicted, lost, never started
        (RestartPolicy.ON_FAILURE, 1, True),
        (RestartPolicy.ALWAYS, 1, True),
        (RestartPolicy.NEVER, 137, False),
        (None, 137, False),
    ],
)
def test_which_failures_restart(policy: RestartPolicy | None, code: int | None, restarts_it: bool) -> None:
    failed = pod("Worker", 0, "Failed", exit_code=code)
    assert exit_code(failed, "pytorch") == code
    assert may_restart(failed, policy, "pytorch") is restarts_it


def test_only_the_main_container_gives_the_exit_code() -> None:
    states = (
        ContainerState("pytorch", init=True, exit_code=3),
        ContainerState("sidecar", exit_code=1),
        ContainerState("pytorch", exit_code=137),
    )
    assert exit_code(pod("Worker", 0, "Failed", containers=states), "pytorch") == 137


@pytest.mark.shows("E-036", "E-039", "PT-041")
@pytest.mark.parametrize("policy", ["ExitCode", "OnFailure", "Always"])
def test_a_failed_pod_is_replaced_under_its_name(policy: str) -> None:
    w = running(policy)
    w.set_pods("Failed", "sim-worker-0", exit_code=137)
    plan = w.step()
    assert [deletion.pod.name for deletion in plan.delete_pods] == ["sim-worker-0"]
    assert plan.create_pods == ()
    assert conditions(plan.status) == ["Created=True", "Restarting=True"]
    assert message(plan.status, "Restarting") == "PyTorchJob sim is restarting because 1 Worker replica(s) failed."
    w.settle()
    assert w.pods["sim-worker-0"].phase == "Pending"
    assert conditions(w.status) == ["Created=True", "Running=True"]


def test_a_restart_gives_one_warning() -> None:
    w = running("ExitCode")
    w.lingering = True
    w.set_pods("Failed", "sim-worker-0", exit_code=137)
    for _ in range(3):
        w.step()
    w.finish_deletions()
    w.settle()
    assert texts(w.events) == ["Normal ExitedWithCode Pod: ns.sim-worker-0 exited with code 137", WITH_NUMBER]
    assert w.counters.count(Counter.RESTARTED) == 1


def test_the_events_of_a_restart_do_not_repeat_while_it_is_delayed() -> None:
    w = running("OnFailure")
    w.report("Failed", "sim-worker-0", exit_code=1)
    fail_again(w)
    w.settle()
    w.advance(1)
    assert w.step().status is None  # nor do the times of the conditions move
    assert texts(w.events).count(WITH_NUMBER) == 2
    assert w.counters.count(Counter.RESTARTED) == 2


def test_without_anybody_running_the_condition_has_the_plain_message() -> None:
    w = world("JAXJob", {"Worker": 2}, restart="OnFailure").settle().report("Running")
    w.set_pods("Failed", exit_code=1)
    w.step()
    assert message(w.status, "Restarting") == "job sim is restarting because Worker replica(s) failed."


@pytest.mark.shows("JAX-021")
def test_while_another_runs_the_message_has_the_number() -> None:
    w = world("JAXJob", {"Worker": 2}, restart="OnFailure").settle().report("Running")
    w.set_pods("Failed", "sim-worker-1", exit_code=1)
    w.step()
    assert message(w.status, "Restarting") == "JAXJob sim is restarting because 1 Worker replica(s) failed."
    assert conditions(w.status) == ["Created=True", "Restarting=True"]


def test_restarting_stays_until_something_runs_again() -> None:
    w = world("JAXJob", {"Worker": 1}, restart="OnFailure").settle()
    w.report("Failed", exit_code=1)
    assert w.pods["sim-worker-0"].phase == "Pending"
    assert conditions(w.status) == ["Created=True", "Restarting=True"]
    w.report("Running")
    assert conditions(w.status) == ["Created=True", "Running=True"]


@pytest.mark.shows("E-037", "PT-042")
@pytest.mark.parametrize("code", [0, 1, 127])
def test_a_permanent_exit_code_fails_the_job(code: int) -> None:
    w = running("ExitCode")
    w.set_pods("Failed", "sim-worker-0", exit_code=code)
    plan = w.step()
    assert plan.delete_pods == () == plan.create_pods
    sentence = 'job "sim" is failing because "Worker" replica(s) failed.'
    assert message(plan.status, "Failed").startswith(f"{sentence} Pod sim-worker-0: ")
    assert conditions(plan.status) == ["Running=False", "Created=True", "Failed=True"]
    assert texts(plan.events)[-1] == f"Warning PyTorchJobFailed {sentence}"
    # K-05, K-60: like any other failure
    assert plan.status is not None
    assert plan.status.completion_time == START
    assert plan.counters == (Counter.FAILED,)
    assert "sim-worker-0" in w.pods


@pytest.mark.shows("E-041")
def test_restarts_in_place_set_no_condition_but_count() -> None:
    w = running("OnFailure")
    w.report("Running", "sim-worker-0", restarts=2)
    assert conditions(w.status) == ["Created=True", "Running=True"]
    assert w.status.replica_statuses["Worker"].restarts == 2


@pytest.mark.shows("K-04")
def test_restarts_of_init_containers_of_pending_pods_count() -> None:
    w = world("JAXJob", {"Worker": 1}, restart="OnFailure").settle()
    w.pods["sim-worker-0"] = msgspec.structs.replace(
        w.pods["sim-worker-0"], containers=(ContainerState("init", init=True, restarts=4),)
    )
    w.settle()
    assert w.status.replica_statuses["Worker"].restarts == 4


@pytest.mark.shows("K-03")
def test_a_restart_is_stored_before_the_pod_is_deleted_and_counted_once() -> None:
    w = running("OnFailure")
    w.set_pods("Failed", "sim-worker-0", exit_code=1, restarts=2)
    plan = w.decide()
    assert plan.status is not None
    assert plan.status.replica_statuses["Worker"].restarts == 3
    # The process dies with the status written and the pod still there.
    w._store(plan.status)
    again = w.decide()
    assert again.status is None
    assert [deletion.history for deletion in again.delete_pods] == [RestartHistory(restarts=3, backoff_level=1)]
    w.settle()
    assert w.status.replica_statuses["Worker"].restarts == 3
    assert w.pods["sim-worker-0"].restarts_before == 3


@pytest.mark.shows("K-03")
@pytest.mark.parametrize("lingering", [False, True])
def test_a_restart_of_the_operator_between_deletion_and_creation_loses_nothing(lingering: bool) -> None:
    w = running("OnFailure")
    w.lingering = lingering
    w.set_pods("Failed", "sim-worker-0", exit_code=1)
    w.step()
    w.history.clear()
    w.step()
    w.finish_deletions()
    w.settle()
    assert w.status.replica_statuses["Worker"].restarts == 1
    assert w.pods["sim-worker-0"].restarts_before == 1


@pytest.mark.shows("K-03")
def test_restarts_of_pods_that_vanished_go_to_the_first_empty_slot() -> None:
    w = world("JAXJob", {"Worker": 4}, restart="OnFailure").settle()
    w.report("Running", restarts=2)
    assert w.status.replica_statuses["Worker"].restarts == 8
    w.delete("sim-worker-1")
    w.delete("sim-worker-3")
    plan = w.step()
    assert [(new.slot.index, new.history.restarts) for new in plan.create_pods] == [(1, 4), (3, 0)]
    w.settle()
    assert w.status.replica_statuses["Worker"].restarts == 8


@pytest.mark.shows("K-03")
def test_what_is_remembered_of_a_terminating_pod_is_not_given_to_another_slot() -> None:
    w = world("JAXJob", {"Worker": 2}, restart="OnFailure").settle()
    w.set_pods("Failed", "sim-worker-0", exit_code=1)
    w.lingering = True
    w.step()
    del w.pods["sim-worker-1"]
    w.step()
    assert w.pods["sim-worker-1"].restarts_before == 0
    w.finish_deletions()
    w.settle()
    assert w.pods["sim-worker-0"].restarts_before == 1
    assert w.status.replica_statuses["Worker"].restarts == 1


@pytest.mark.shows("K-03")
def test_restarts_survive_scaling_down_and_up() -> None:
    w = world("JAXJob", {"Worker": 2}, restart="OnFailure").settle()
    w.report("Running", restarts=3)
    w.stored["spec"]["jaxReplicaSpecs"]["Worker"]["replicas"] = 1
    w.settle()
    w.report("Running", restarts=4)
    assert w.status.replica_statuses["Worker"].restarts == 7
    w.stored["spec"]["jaxReplicaSpecs"]["Worker"]["replicas"] = 2
    w.settle()
    assert w.pods["sim-worker-1"].restarts_before == 3
    assert w.status.replica_statuses["Worker"].restarts == 7


@pytest.mark.shows("K-03")
def test_under_v1s_crds_the_pods_alone_remember() -> None:
    w = running("OnFailure")
    w.status_extensions = False
    for expected in (1, 2, 3):
        w.set_pods("Failed", "sim-worker-0", exit_code=1)
        w.settle(limit=20)
        w.advance(300)
        w.settle(limit=20)
        assert w.pods["sim-worker-0"].restarts_before == expected
        w.set_pods("Running")
        w.settle(limit=20)


@pytest.mark.shows("K-04")
def test_recreation_is_delayed_longer_each_time() -> None:
    w = running("OnFailure")
    w.set_pods("Failed", "sim-worker-0", exit_code=1)
    waited = []
    for _ in range(8):
        w.settle()
        if w.pods["sim-worker-0"].phase == "Failed":
            assert w.requeue_after is not None
            waited.append(w.requeue_after)
            assert conditions(w.status)[-1] == "Restarting=True"
            w.advance(w.requeue_after)
            w.settle()
        else:
            waited.append(0)
        assert w.pods["sim-worker-0"].phase == "Pending"
        fail_again(w)
    assert waited == [0, 10, 20, 40, 80, 160, 300, 300]
    assert w.status.replica_statuses["Worker"].restarts == 8


@pytest.mark.shows("K-04")
def test_the_delay_starts_again_after_ten_minutes_of_running() -> None:
    short, long = (pod("Worker", 0, "Failed", exit_code=1, ran=timedelta(minutes=m), backoff_level=5) for m in (9, 10))
    assert restarts.recreation_due(short) == START + timedelta(seconds=160)
    assert restarts.recreation_due(long) is None


@pytest.mark.shows("K-04")
def test_without_an_end_the_delay_counts_from_the_creation() -> None:
    evicted = pod("Worker", 0, "Failed", reason="Evicted", created=START, backoff_level=2)
    assert restarts.recreation_due(evicted) == START + timedelta(seconds=20)
    assert restarts.recreation_due(msgspec.structs.replace(evicted, created=None)) is None


@pytest.mark.shows("K-04")
def test_a_huge_level_waits_no_longer_than_five_minutes() -> None:
    failed = pod("Worker", 0, "Failed", exit_code=1, backoff_level=10**9)
    assert restarts.recreation_due(failed) == START + timedelta(minutes=5)


def test_delays_of_replicas_are_independent_and_the_nearest_is_waited_for() -> None:
    w = world("JAXJob", {"Worker": 3}, restart="OnFailure").settle()
    for index, level in enumerate((0, 2, 3)):
        name = f"sim-worker-{index}"
        w.set_pods("Failed", name, exit_code=1)
        w.pods[name] = msgspec.structs.replace(w.pods[name], backoff_level=level)
    plan = w.step()
    assert [deletion.slot for deletion in plan.delete_pods] == [Slot("Worker", 0)]
    assert plan.requeue_after == 20


def test_a_pod_deleted_by_somebody_is_no_restart() -> None:
    w = running("OnFailure")
    w.delete("sim-worker-0")
    w.settle()
    assert w.status.replica_statuses["Worker"].restarts == 0
    assert w.pods["sim-worker-0"].backoff_level == 0
    assert texts(w.events) == []


def test_a_pod_that_fails_while_its_index_is_not_wanted_any_more_is_no_restart_and_begins_no_series() -> None:
    w = world("JAXJob", {"Worker": 3}, restart="ExitCode").settle().report("Running")
    w.stored["spec"]["jaxReplicaSpecs"]["Worker"]["replicas"] = 2
    w.set_pods("Failed", "sim-worker-2", exit_code=137)
    w.pods["sim-worker-2"] = msgspec.structs.replace(w.pods["sim-worker-2"], backoff_level=2)
    (deletion,) = w.step().delete_pods
    assert (deletion.pod.name, deletion.history) == ("sim-worker-2", RestartHistory(0, 0))
    assert w.status.replica_statuses["Worker"].restarts == 0


def test_a_replica_that_failed_for_good_ends_the_job_and_nothing_is_replaced_any_more() -> None:
    w = world("JAXJob", {"Worker": 2}, restart="ExitCode").settle().report("Running")
    w.set_pods("Failed", "sim-worker-0", exit_code=137)
    w.set_pods("Failed", "sim-worker-1", exit_code=1)
    plan = w.step()
    assert conditions(w.status)[-1] == "Failed=True"
    assert (plan.delete_pods, plan.create_pods, plan.requeue_after) == ((), (), 0)


def test_a_failed_pod_is_replaced_beside_one_that_restarted_in_place() -> None:
    w = running("OnFailure")
    w.set_pods("Running", "sim-master-0", restarts=1)
    w.set_pods("Failed", "sim-worker-0", exit_code=1)
    assert [deletion.pod.name for deletion in w.step().delete_pods] == ["sim-worker-0"]
