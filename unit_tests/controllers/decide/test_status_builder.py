"""What one decision says in the status, in events and in counters."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from unit_tests.controllers.builders import START, make_job, texts

from training_api.models.common import JobCondition, Waiting
from training_controllers.decide.status_builder import StatusBuilder
from training_controllers.model.plan import Counter, Snapshot


def builder(waiting: Waiting | None = None) -> StatusBuilder:
    job = make_job("JAXJob", {"Worker": 1})
    job = replace(job, status=job.status.model_copy(update={"waiting": waiting}))
    return StatusBuilder(Snapshot(job, (), (), START + timedelta(microseconds=9)))


def last_condition(built: StatusBuilder) -> tuple[str, str, str]:
    condition: JobCondition = built.status.conditions[-1]
    return condition.type, condition.reason, condition.message


def test_success_is_said_at_once_in_status_event_and_counter() -> None:
    built = builder()
    built.succeed("all is done")
    assert built.status.completion_time == START
    assert last_condition(built) == ("Succeeded", "JAXJobSucceeded", "all is done")
    assert texts(built.events) == ["Normal JAXJobSucceeded all is done"]
    assert built.counters == [Counter.SUCCESSFUL]


@pytest.mark.parametrize(
    ("message", "details", "word", "expected", "reason"),
    [
        ("it failed", "", "", "it failed", "JAXJobFailed"),
        ("it failed", "Pod a ended", "", "it failed. Pod a ended", "JAXJobFailed"),
        ("it failed.", "Pod a ended", "Evicted", "it failed. Pod a ended", "JAXJobEvicted"),
    ],
)
def test_failure_is_said_in_the_event_as_v1_says_it_and_in_the_condition_with_details(
    message: str, details: str, word: str, expected: str, reason: str
) -> None:
    built = builder()
    built.fail(message, *filter(None, (details, word)))
    assert built.status.completion_time == START
    assert last_condition(built) == ("Failed", reason, expected)
    assert texts(built.events) == [f"Warning JAXJobFailed {message}"]
    assert built.counters == [Counter.FAILED]


def test_of_several_reasons_to_wait_the_most_urgent_stays_and_of_equal_ones_the_first() -> None:
    built = builder(Waiting(reason="Quota", message="before", since=START - timedelta(minutes=1)))
    built.update(waiting=None)
    for reason, message in (("Unschedulable", "a"), ("Quota", "b"), ("Quota", "c"), ("ImagePull", "d")):
        built.set_waiting(reason, message)
    assert built.status.waiting == Waiting(reason="Quota", message="b", since=START - timedelta(minutes=1))
    built.set_waiting("ApiMissing", "e")
    assert built.status.waiting == Waiting(reason="ApiMissing", message="e", since=START)
