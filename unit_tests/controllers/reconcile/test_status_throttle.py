from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from unit_tests.controllers.builders import world

from training_api.conditions import set_condition
from training_api.models.common import ConditionStatus, ConditionType, JobCondition, JobStatus, ReplicaStatus, Waiting
from training_controllers.model.plan import Plan, PodDeletion
from training_controllers.reconcile.reconciler import _may_stay_unwritten
from training_controllers.reconcile.status_throttle import BURST, StatusThrottle, is_recount, is_rewording

NOW = datetime(2026, 3, 1, tzinfo=UTC)
BEFORE, AFTER = JobStatus(attempt=1), JobStatus(attempt=2)


def waiting(message: str, reason: str = "Unschedulable", **status: int) -> JobStatus:
    return JobStatus(waiting=Waiting(reason=reason, message=message, since=NOW), **status)


def ended(kind: ConditionType) -> JobStatus:
    return set_condition(AFTER, JobCondition(type=kind, status=ConditionStatus.TRUE, reason="r", message="m"), NOW)


def test_some_writes_may_follow_each_other_at_once_and_then_one_a_second() -> None:
    throttle, times, now = StatusThrottle(), list[float](), 100.0
    for _ in range(8):
        now += throttle.wait(BEFORE, AFTER, now, 1)
        throttle.wrote(BEFORE, AFTER, now)
        times.append(now)
    assert BURST == 5
    assert times == [100, 100, 100, 100, 100, 101, 102, 103]
    assert throttle.wait(BEFORE, AFTER, 103.25, 1) == 0.75
    assert throttle.wait(BEFORE, AFTER, 104, 1) == 0
    rested = [throttle.wait(BEFORE, AFTER, 200, 1)]
    for _ in range(5):
        throttle.wrote(BEFORE, AFTER, 200)
        rested.append(throttle.wait(BEFORE, AFTER, 200, 1))
    assert rested == [0, 0, 0, 0, 0, 1]


@pytest.mark.parametrize("kind", [ConditionType.SUCCEEDED, ConditionType.FAILED])
def test_the_end_of_a_job_never_waits(kind: ConditionType) -> None:
    throttle = StatusThrottle()
    for _ in range(9):
        throttle.wrote(BEFORE, AFTER, 0)
    assert throttle.wait(BEFORE, AFTER, 0, 1) == 5
    assert throttle.wait(BEFORE, ended(kind), 0, 1) == 0


def test_other_words_for_the_same_reason_are_written_once_a_minute() -> None:
    throttle, one, two = StatusThrottle(), waiting("0/3 nodes"), waiting("0/4 nodes")
    assert throttle.wait(one, two, 0, 1) == 0
    throttle.wrote(BEFORE, one, 10)
    assert throttle.wait(one, two, 10, 1) == 0
    throttle.wrote(one, two, 10)
    assert throttle.wait(two, one, 11, 1) == 59
    assert throttle.wait(two, one, 70, 1) == 0
    assert throttle.wait(two, AFTER, 11, 1) == 0


def test_what_is_a_rewording() -> None:
    one = waiting("0/3 nodes")
    later = Waiting(reason="Unschedulable", message="0/4 nodes", since=NOW + timedelta(seconds=1))
    assert is_rewording(one, waiting("0/4 nodes"))
    assert is_rewording(one, JobStatus(waiting=later))
    assert not is_rewording(one, waiting("0/4 nodes", reason="Quota"))
    assert not is_rewording(one, waiting("0/4 nodes", attempt=1))
    assert not is_rewording(one, JobStatus())
    assert not is_rewording(JobStatus(), one)


def counted(active: int, succeeded: int = 0, **counters: int) -> JobStatus:
    return JobStatus(replica_statuses={"Worker": ReplicaStatus(active=active, succeeded=succeeded, **counters)})


def test_what_only_counts_many_replicas_anew_is_written_less_often() -> None:
    throttle = StatusThrottle()
    assert throttle.wait(counted(0), counted(300), 0, 300) == 0
    throttle.wrote(counted(0), counted(300), 0)
    assert throttle.wait(counted(300), counted(200, 110), 1, 300) == 2
    assert throttle.wait(counted(99), counted(90), 0, 99) == 0, "a small job is counted each time"
    assert throttle.wait(counted(300), counted(310), 1, 20_000) == 9, "it never waits longer"
    assert throttle.wait(counted(300), counted(299, failed=1), 1, 300) == 0
    assert throttle.wait(counted(300), counted(300, restarts=1), 1, 300) == 0


@pytest.mark.parametrize(
    ("after", "is_one"),
    [
        (counted(2, 1), True),
        (counted(2, failed=1), False),
        (counted(2, restarts=1), False),
        (counted(2).model_copy(update={"attempt": 1}), False),
        (JobStatus(replica_statuses={"Master": ReplicaStatus(active=2)}), False),
    ],
)
def test_what_is_a_recount(after: JobStatus, is_one: bool) -> None:
    assert is_recount(counted(3), after) is is_one


def test_a_new_count_may_wait_while_nothing_is_deleted() -> None:
    """What is deleted must be accounted for in the stored status (K-03)."""
    w = world("JAXJob", {"Worker": 2}).settle()
    seen = w.snapshot()
    counted = seen.job.status.replica_statuses["Worker"].model_copy(update={"active": 1})
    status = seen.job.status.model_copy(update={"replica_statuses": {"Worker": counted}})
    assert is_recount(seen.job.status, status)
    plan = Plan(status=status)
    assert _may_stay_unwritten(seen, plan)
    assert not _may_stay_unwritten(seen, replace(plan, delete_pods=(PodDeletion(seen.pods[0]),)))
    assert not _may_stay_unwritten(seen, replace(plan, delete_services=(seen.services[0],)))
