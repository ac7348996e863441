from __future__ import annotations

from training_controllers.ports import ApiError
from training_controllers.reconcile.memory import MAX_EVENT_KEYS, Failures, JobMemory


def failed(retry_after: float | None = None) -> Failures:
    outcome = Failures()
    outcome.fail(ApiError("no", retry_after=retry_after))
    return outcome


def test_what_fails_waits_twice_as_long_each_time_up_to_five_minutes() -> None:
    memory, delays = JobMemory("uid"), []
    for _ in range(10):
        memory.tried("create", 100.0, failed())
        delays.append(memory.wait(100.0))
    assert delays == [1, 2, 4, 8, 16, 32, 64, 128, 256, 300]


def test_what_waits_is_not_tried_and_hinders_nothing_else() -> None:
    memory = JobMemory("uid")
    memory.tried("create", 100.0, failed())
    assert not memory.may_try("create", 100.9)
    assert memory.may_try("create", 101.0)
    assert memory.may_try("delete", 100.0)


def test_the_server_may_ask_for_more_time() -> None:
    memory = JobMemory("uid")
    memory.tried("create", 0.0, failed(retry_after=30.0))
    assert memory.wait(0.0) == 30.0


def test_success_ends_the_series() -> None:
    memory = JobMemory("uid")
    for outcome in (failed(), failed(), Failures()):
        memory.tried("create", 0.0, outcome)
    assert memory.wait(0.0) is None
    memory.tried("create", 0.0, failed())
    assert memory.wait(0.0) == 1.0


def test_a_changed_spec_is_tried_at_once() -> None:
    memory = JobMemory("uid", generation=1)
    memory.tried("create", 0.0, failed())
    memory.names_taken["pod", "a"] = 60.0
    memory.begin(1, 0.0)
    assert memory.wait(0.0) == 1.0
    memory.begin(2, 0.0)
    assert memory.wait(0.0) is None


def test_what_is_not_wanted_any_more_is_not_retried_indefinitely() -> None:
    memory = JobMemory("uid")
    memory.tried("create", 0.0, failed())
    memory.names_taken["pod", "a"] = 60.0
    memory.begin(0, 5.0)
    assert memory.wait(5.0) == 55.0
    memory.begin(0, 60.0)
    assert memory.wait(60.0) is None


def test_what_becomes_due_as_a_reconcile_begins_is_due_in_it_and_later_is_tried_at_once() -> None:
    memory = JobMemory("uid")
    memory.tried("create", 0.0, failed())
    memory.begin(0, 0.5)
    assert memory.wait(2.0) == 0.0
    memory.begin(0, 1.0)
    assert memory.wait(1.0) is None


def test_of_several_failures_the_longest_wait_counts() -> None:
    failures = Failures()
    failures.add(Failures())
    assert not failures.failed
    failures.add(failed(retry_after=30.0))
    failures.add(failed(retry_after=20.0))
    failures.fail(ApiError("no", retry_after=10.0))
    failures.fail()
    assert (failures.failed, failures.retry_after) == (True, 30.0)


def test_what_fails_again_stays() -> None:
    memory = JobMemory("uid")
    memory.tried("create", 0.0, failed())
    memory.begin(0, 5.0)
    memory.tried("create", 5.0, failed())
    assert memory.wait(5.0) == 2.0


def test_event_keys_are_remembered_but_not_without_end() -> None:
    memory = JobMemory("uid")
    assert memory.first_time("a")
    assert not memory.first_time("a")
    for number in range(MAX_EVENT_KEYS):
        memory.first_time(str(number))
    assert len(memory.emitted) == MAX_EVENT_KEYS
    assert memory.first_time("a")
