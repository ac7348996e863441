"""Events about pods: v1's texts, each of them once (K-39)."""

from __future__ import annotations

import msgspec
import pytest
from unit_tests.controllers.builders import START, pod, texts, world

from training_controllers.decide.pod_events import abnormal_states, exits
from training_controllers.model.records import ContainerState


@pytest.mark.shows("E-048")
@pytest.mark.parametrize("code", [0, 1, 137])
def test_an_ended_main_container_emits_an_event(code: int) -> None:
    events = list(exits([pod("Worker", 0, "Failed", exit_code=code)], "pytorch"))
    assert texts(events) == [f"Normal ExitedWithCode Pod: ns.sim-worker-0 exited with code {code}"]


@pytest.mark.shows("E-048")
def test_other_containers_are_not() -> None:
    states = (ContainerState("pytorch", init=True, exit_code=1), ContainerState("sidecar", exit_code=1))
    assert list(exits([pod("Worker", 0, "Running", containers=states)], "pytorch")) == []


@pytest.mark.shows("K-39")
def test_an_exit_emits_one_event_per_end_of_the_container() -> None:
    w = world("JAXJob", {"Worker": 2}, restart="OnFailure").settle()
    w.report("Running", "sim-worker-0", exit_code=1, restarts=0)
    w.settle()
    assert len(w.events) == 2  # the exit, and the abnormal state of a running pod
    w.report("Running", "sim-worker-0", exit_code=1, restarts=1)
    assert [event.reason for event in w.events] == ["Error", "ExitedWithCode", "Error", "ExitedWithCode"]


def test_restarts_of_other_containers_make_no_further_end() -> None:
    main, side = ContainerState("pytorch", exit_code=1, restarts=2), ContainerState("side", restarts=5)
    (alone,), (beside,) = (
        exits([pod("Worker", 0, "Running", containers=containers)], "pytorch") for containers in ((main,), (side, main))
    )
    assert alone == beside


CRASH = ContainerState("pytorch", waiting=True, reason="CrashLoopBackOff", message="back-off 10s", restarts=1)
KILLED = ContainerState("side", exit_code=137, reason="OOMKilled", message="bye")
PULL = ContainerState("prep", init=True, waiting=True, reason="ImagePullBackOff", message="no such image")
CREATING = ContainerState("pytorch", waiting=True, reason="ContainerCreating")
ENDED = ContainerState("side", exit_code=0, reason="Completed", message="fine")


@pytest.mark.shows("E-049")
@pytest.mark.parametrize(
    ("containers", "expected"),
    [
        ((CRASH,), ["Warning CrashLoopBackOff Error pod sim-worker-0 container pytorch waiting message: back-off 10s"]),
        ((KILLED,), ["Warning OOMKilled Error pod sim-worker-0 container side exitCode: 137 terminated message: bye"]),
        ((PULL,), ["Warning ImagePullBackOff Error pod sim-worker-0 container prep waiting message: no such image"]),
        ((PULL, CREATING), []),
        ((CREATING, ENDED), []),
        ((), []),
    ],
)
def test_abnormal_containers_of_active_pods(containers: tuple[ContainerState, ...], expected: list[str]) -> None:
    assert texts(list(abnormal_states([pod("Worker", 0, "Pending", containers=containers)], START))) == expected


@pytest.mark.shows("E-050")
def test_a_condition_that_does_not_hold() -> None:
    waiting = pod("Worker", 0, "Pending", condition_reason="Unschedulable", condition_message="0/3 nodes")
    assert texts(list(abnormal_states([waiting], START))) == [
        "Warning Unschedulable Error pod sim-worker-0 condition message: 0/3 nodes"
    ]


def test_a_pod_that_soon_gets_its_place_is_not_told_of() -> None:
    w = world("JAXJob", {"Worker": 1}).settle()
    unplaced = {"condition_reason": "Unschedulable", "condition_message": "0/3 nodes"}
    w.pods["sim-worker-0"] = msgspec.structs.replace(w.pods["sim-worker-0"], created=START, **unplaced)
    w.settle()
    assert (w.events, w.requeue_after) == ([], 10)
    w.advance(10)
    w.settle()
    w.advance(10)
    w.settle()
    assert texts(w.events) == ["Warning Unschedulable Error pod sim-worker-0 condition message: 0/3 nodes"]


@pytest.mark.parametrize("state", [{"phase": "Failed"}, {"phase": "Succeeded"}, {"deleting": True}])
def test_only_active_pods_are_abnormal(state: dict[str, object]) -> None:
    ended = msgspec.structs.replace(pod("Worker", 0, "Running", containers=(CRASH,)), **state)
    assert list(abnormal_states([ended], START)) == []
    other = pod("Worker", 1, "Running", containers=(CRASH,))
    assert list(abnormal_states([ended, other], START)) == list(abnormal_states([other], START)) != []


@pytest.mark.shows("K-39")
def test_a_state_emits_one_event_until_the_container_restarts() -> None:
    w = world("JAXJob", {"Worker": 1}).settle()
    for restarts in (0, 0, 1, 1):
        crash = msgspec.structs.replace(CRASH, name="jax", restarts=restarts)
        w.pods["sim-worker-0"] = msgspec.structs.replace(w.pods["sim-worker-0"], containers=(crash,))
        w.settle()
    assert [event.reason for event in w.events] == ["CrashLoopBackOff"] * 2


def test_abnormal_states_emit_events_in_the_reconcile_that_fails_the_job() -> None:
    w = world("JAXJob", {"Worker": 1}, run_policy={"activeDeadlineSeconds": 5}).settle()
    w.pods["sim-worker-0"] = msgspec.structs.replace(w.pods["sim-worker-0"], containers=(CRASH,))
    w.advance(5)
    assert [event.reason for event in w.step().events] == ["CrashLoopBackOff", "JAXJobFailed"]
