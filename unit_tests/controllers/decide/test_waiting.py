"""What pods wait for, as `status.waiting` says it; how it gets there is in simulated/engine/test_waiting.py."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from unit_tests.controllers.builders import START, framework_of, pod, world

from training_controllers.decide.job_state import observe
from training_controllers.decide.waiting import deletion_overdue_at, pod_causes
from training_controllers.model.records import ContainerState, PodRecord


def causes(*pods: PodRecord) -> dict[str, str]:
    """Why these pods of a job of three workers wait."""
    snapshot = world("PyTorchJob", {"Worker": 3}, restart="OnFailure").snapshot()
    return dict(pod_causes(observe(replace(snapshot, pods=pods), framework_of("PyTorchJob"))))


def waiting(reason: str, message: str = "", **state: Any) -> dict[str, Any]:
    return {"containers": (ContainerState("a"), ContainerState("b", waiting=True, reason=reason, message=message))}


@pytest.mark.parametrize("reason", ["Unschedulable", "SchedulingGated", "SchedulerError"])
def test_a_pod_that_has_no_place(reason: str) -> None:
    fields: dict[str, Any] = {"condition_reason": reason, "condition_message": "no room"}
    assert causes(pod("Worker", 0, "Pending", **fields)) == {
        "Unschedulable": "pod sim-worker-0 cannot be scheduled: no room"
    }
    assert causes(pod("Worker", 0, "Pending", condition_reason=reason)) == {
        "Unschedulable": f"pod sim-worker-0 cannot be scheduled: {reason}"
    }
    assert causes(pod("Worker", 0, "Running", **fields)) == {}
    assert "Unschedulable" not in causes(pod("Worker", 0, "Pending", deleting=True, **fields))
    assert causes(pod("Worker", 0, "Pending", condition_reason="PodScheduled")) == {}


@pytest.mark.parametrize(
    ("waits_for", "reason", "what"),
    [
        ("ErrImagePull", "ImagePull", "its image cannot be pulled"),
        ("InvalidImageName", "ImagePull", "its image cannot be pulled"),
        ("CreateContainerConfigError", "InvalidTemplate", "it cannot be started"),
        ("RunContainerError", "InvalidTemplate", "it cannot be started"),
    ],
)
def test_a_container_that_cannot_start(waits_for: str, reason: str, what: str) -> None:
    text = f"pod sim-worker-0, container b: {what}: {waits_for}"
    assert causes(pod("Worker", 0, "Pending", **waiting(waits_for, "no such"))) == {reason: f"{text}: no such"}
    assert causes(pod("Worker", 0, "Pending", **waiting(waits_for))) == {reason: text}
    assert reason not in causes(pod("Worker", 0, "Pending", deleting=True, **waiting(waits_for)))
    ended = ContainerState("b", reason=waits_for)
    assert causes(pod("Worker", 0, "Pending", containers=(ended,))) == {}
    assert causes(pod("Worker", 0, "Pending", **waiting("ContainerCreating"))) == {}


def test_a_container_that_fails_again_and_again() -> None:
    assert causes(pod("Worker", 0, "Running", **waiting("CrashLoopBackOff", "back-off 20s"))) == {
        "CrashLoop": "pod sim-worker-0, container b keeps failing: back-off 20s"
    }


@pytest.mark.parametrize(
    ("since", "level", "cause"),
    [
        (9, 1, "Pod sim-worker-0: container pytorch exited with code 137 (SIGKILL, Error); "
               "it is replaced at 12:00:01 UTC"),
        (10, 1, None),
        (9, 0, None),
    ],
)  # fmt: skip
def test_a_replacement_that_backs_off(since: int, level: int, cause: str | None) -> None:
    failed = pod("Worker", 0, "Failed", exit_code=137, finished=START - timedelta(seconds=since), backoff_level=level)
    assert causes(failed).get("CrashLoop") == cause


@pytest.mark.parametrize(("since", "overdue"), [(9, False), (10, True), (None, True)])
def test_a_deletion_that_is_overdue(since: int | None, overdue: bool) -> None:
    stops_by = START - timedelta(seconds=since) if since is not None else None
    going = pod("Worker", 0, "Running", deleting=True, stops_by=stops_by)
    text = "pod sim-worker-0 was deleted but still exists: a finalizer or a lost node may block its deletion"
    assert causes(going) == ({"Terminating": text} if overdue else {})
    assert deletion_overdue_at(going) == (stops_by + timedelta(seconds=10) if stops_by else None)
    assert causes(pod("Worker", 0, "Running", stops_by=stops_by)) == {}


def test_of_pods_that_wait_alike_the_first_is_named_and_the_others_are_counted() -> None:
    pods = [
        pod("Worker", index, "Pending", condition_reason="Unschedulable", condition_message="no") for index in (2, 1)
    ]
    assert causes(*pods) == {
        "Unschedulable": "pod sim-worker-1 cannot be scheduled: no; 1 more pod(s) wait for the same reason"
    }
    assert causes(*pods, pod("Worker", 0, "Pending", **waiting("ErrImagePull")))["ImagePull"].endswith("ErrImagePull")
