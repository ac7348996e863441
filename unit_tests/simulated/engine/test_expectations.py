from __future__ import annotations

import pytest

from training_controllers.model.records import Owner, PodRecord, ServiceRecord
from training_controllers.reconcile.expectations import PATIENCE, UNANSWERED_PATIENCE, Expectations

JOB = "uid-of-job"


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def pod(name: str, uid: str, *, owner: str = JOB, deleting: bool = False) -> PodRecord:
    return PodRecord("ns", name, uid, "1", Owner("PyTorchJob", "job", owner), "worker", 0, "Pending", deleting=deleting)


def service(name: str) -> ServiceRecord:
    return ServiceRecord("ns", name, "s", "1", Owner("PyTorchJob", "job", JOB), "worker", 0)


@pytest.mark.shows("E-066")
def test_nothing_expected_is_satisfied() -> None:
    assert Expectations(Clock()).wait(JOB) == 0


def test_all_names_have_to_appear() -> None:
    expectations = Expectations(Clock())
    expectations.expect_creation(JOB, PodRecord, "a")
    expectations.expect_creation(JOB, PodRecord, "b")
    expectations.observe(None, pod("a", "1"))
    assert expectations.wait(JOB) == PATIENCE
    expectations.observe(None, pod("b", "2"))
    assert expectations.wait(JOB) == 0
    assert len(expectations) == 0


def test_a_service_does_not_stand_in_for_the_pod_of_its_name() -> None:
    expectations = Expectations(Clock())
    expectations.expect_creation(JOB, PodRecord, "a")
    expectations.observe(None, service("a"))
    assert expectations.wait(JOB) > 0


@pytest.mark.shows("K-24")
def test_the_object_of_another_job_meets_nothing() -> None:
    expectations = Expectations(Clock())
    expectations.expect_creation(JOB, PodRecord, "a")
    expectations.observe(None, pod("a", "1", owner="another job"))
    assert expectations.wait(JOB) > 0


def test_a_deletion_is_met_by_termination_absence_or_replacement() -> None:
    for seen in (pod("a", "1", deleting=True), None, pod("a", "2")):
        expectations = Expectations(Clock())
        expectations.expect_deletion(JOB, "1")
        expectations.observe(None, pod("a", "1"))
        assert expectations.wait(JOB) > 0
        expectations.observe(pod("a", "1"), seen)
        assert expectations.wait(JOB) == 0


def test_the_replacement_of_the_same_name_does_not_meet_a_deletion() -> None:
    expectations = Expectations(Clock())
    expectations.expect_deletion(JOB, "1")
    expectations.observe(pod("a", "2"), None)
    assert expectations.wait(JOB) > 0


def test_observing_twice_or_unasked_is_harmless() -> None:
    expectations = Expectations(Clock())
    expectations.observe(None, pod("a", "1"))
    expectations.expect_creation(JOB, PodRecord, "a")
    expectations.observe(None, pod("a", "1"))
    expectations.observe(None, pod("a", "1"))
    assert expectations.wait(JOB) == 0
    expectations.expect_creation(JOB, PodRecord, "b")
    assert expectations.wait(JOB) > 0


@pytest.mark.shows("E-070")
def test_withdrawn_is_no_longer_expected() -> None:
    expectations = Expectations(Clock())
    expectations.expect_creation(JOB, PodRecord, "a")
    expectations.expect_deletion(JOB, "1")
    expectations.withdraw_creation(JOB, PodRecord, "a")
    assert expectations.wait(JOB) > 0
    expectations.withdraw_deletion(JOB, "1")
    assert expectations.wait(JOB) == 0


@pytest.mark.shows("K-23")
def test_waits_no_longer_than_its_patience() -> None:
    clock = Clock()
    expectations = Expectations(clock)
    expectations.expect_creation(JOB, PodRecord, "a")
    clock.now += PATIENCE - 1
    assert expectations.wait(JOB) == 1
    clock.now += 1
    assert expectations.wait(JOB) == 0
    assert len(expectations) == 0


def test_waits_less_long_for_what_may_never_have_happened() -> None:
    expectations = Expectations(Clock())
    expectations.expect_creation(JOB, PodRecord, "a")
    expectations.doubt_creation(JOB, PodRecord, "a")
    assert expectations.wait(JOB) == UNANSWERED_PATIENCE
    expectations.expect_deletion(JOB, "1")
    assert expectations.wait(JOB) == PATIENCE
    expectations.doubt_deletion(JOB, "1")
    assert expectations.wait(JOB) == UNANSWERED_PATIENCE


def test_forgets_a_job() -> None:
    expectations = Expectations(Clock())
    expectations.expect_deletion(JOB, "1")
    expectations.forget(JOB)
    expectations.forget("never known")
    assert expectations.wait(JOB) == 0
    assert len(expectations) == 0
