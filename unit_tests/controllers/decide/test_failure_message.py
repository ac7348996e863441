"""The sentence about the first failure."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from unit_tests.controllers.builders import START, pod

from training_controllers.decide.failure_message import first_failure
from training_controllers.model.records import ContainerState, PodRecord


def failed(*containers: ContainerState, index: int = 1, **fields: Any) -> PodRecord:
    return pod("Worker", index, "Failed", containers=containers, **fields)


@pytest.mark.parametrize(
    ("container", "expected"),
    [
        (ContainerState("main", exit_code=1), "container main exited with code 1"),
        (ContainerState("main", exit_code=2, reason="Error"), "container main exited with code 2 (Error)"),
        (
            ContainerState("main", exit_code=137, reason="OOMKilled", message="one\n\n last words \n\n"),
            "container main exited with code 137 (SIGKILL, OOMKilled): last words",
        ),
        (ContainerState("main", exit_code=128 + 6), "container main exited with code 134 (SIGABRT)"),
        (ContainerState("main", exit_code=255), "container main exited with code 255"),
        (ContainerState("prep", init=True, exit_code=3), "init container prep exited with code 3"),
        (ContainerState("main", exit_code=1, message="x" * 999), f"container main exited with code 1: {'x' * 297}..."),
    ],
)
def test_what_a_container_died_of(container: ContainerState, expected: str) -> None:
    assert first_failure([failed(container)]) == f"Pod sim-worker-1: {expected}"


def test_a_pod_that_was_evicted() -> None:
    text = first_failure([failed(reason="Evicted", message="The node was low on memory.")])
    assert text == "Pod sim-worker-1: Evicted: The node was low on memory."


def test_a_pod_of_which_nothing_is_known() -> None:
    assert first_failure([failed()]) == "Pod sim-worker-1: failed"


def test_containers_that_ended_well_are_not_to_blame() -> None:
    text = first_failure([failed(ContainerState("main", exit_code=0), ContainerState("side", exit_code=4))])
    assert text == "Pod sim-worker-1: container side exited with code 4"


def test_the_first_of_several_failures_is_in_the_message() -> None:
    early, late = (START, START + timedelta(seconds=1))
    first = failed(
        ContainerState("late", exit_code=1, finished_at=late), ContainerState("early", exit_code=2, finished_at=early)
    )
    second = failed(ContainerState("main", exit_code=3, finished_at=late), index=0)
    unknown = failed(ContainerState("main", exit_code=4), index=2)
    assert first_failure([unknown, second, first]) == "Pod sim-worker-1: container early exited with code 2"


def test_without_failure_there_is_no_message() -> None:
    running = pod("Worker", 0, "Running")
    replaced = pod("Worker", 1, "Failed", exit_code=1, deleting=True)
    assert first_failure([running, replaced]) == ""
