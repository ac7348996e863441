"""The events after one reconcile: those that say the same of many objects are one."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from training_controllers.model.plan import EventType, JobEvent
from training_controllers.reconcile.events import NAMED, SINGLY, combined


def created(name: str) -> JobEvent:
    return JobEvent(EventType.NORMAL, "SuccessfulCreatePod", f"Created pod: {name}", about=name)


def emitted(events: list[JobEvent]) -> list[str]:
    return [event.message for event in combined(events)]


@pytest.mark.shows("E-046")
def test_of_few_objects_each_has_an_event() -> None:
    events = [created(f"a-{number}") for number in range(SINGLY)]
    assert list(combined(events)) == events


@pytest.mark.shows("K-39")
def test_more_share_one_in_the_order_of_their_numbers() -> None:
    [event] = combined([created(f"a-{number}") for number in (10, 2, 1, 0)])
    assert (event.type, event.reason, event.message) == (
        EventType.NORMAL,
        "SuccessfulCreatePod",
        "Created pods: a-0, a-1, a-2, a-10",
    )


def test_the_first_are_named_and_the_rest_counted() -> None:
    [message] = emitted([created(f"a-{number}") for number in range(NAMED + 90)])
    assert message == f"Created pods: {', '.join(f'a-{number}' for number in range(NAMED))} and 90 more"


def test_only_the_kind_is_in_the_plural() -> None:
    pods = [created(f"a-{number}") for number in range(SINGLY + 1)]
    assert emitted([replace(pod, message=f"{pod.message}: on a node: spare") for pod in pods]) == [
        "Created pods: a-0, a-1, a-2, a-3: on a node: spare"
    ]


def test_what_differs_in_more_than_the_object_stays_apart() -> None:
    pods = [created(f"a-{number}") for number in range(SINGLY + 1)]
    failure = JobEvent(EventType.WARNING, "FailedCreatePod", "Error creating: a-0")
    worker = JobEvent(EventType.NORMAL, "SuccessfulCreatePod", "Created worker pod: b", about="b")
    others = [failure, worker, failure]
    assert emitted([others[0], *pods, *others[1:]]) == [
        failure.message,
        "Created pods: a-0, a-1, a-2, a-3",
        worker.message,
        failure.message,
    ]
