import pytest

from training_controllers.model.records import Owner, ServiceRecord
from training_operator.cache.store import Change, Store

OWNER = Owner("PyTorchJob", "job", "uid-job")


def service(name: str, version: int | str, owner: Owner | None = OWNER, uid: str = "") -> ServiceRecord:
    return ServiceRecord("ns", name, uid or f"uid-{name}", str(version), owner, "worker", 0)


@pytest.fixture
def changes() -> list[Change[ServiceRecord]]:
    return []


@pytest.fixture
def store(changes: list[Change[ServiceRecord]]) -> Store[ServiceRecord]:
    store = Store[ServiceRecord]()
    store.subscribe(changes.append)
    return store


@pytest.mark.shows("E-056")
def test_records_are_found_by_name_and_by_owner(store: Store[ServiceRecord]) -> None:
    a, b, orphan = service("a", 1), service("b", 2), service("c", 3, None)
    for record in (a, b, orphan):
        store.observe(record)
    assert store.get("ns", "a") == a
    assert store.get("other", "a") is None
    assert set(store.of_owner("ns", "uid-job")) == {a, b}
    assert store.of_owner("ns", "nobody") == ()
    assert len(store) == 3
    assert list(store) == [a, b, orphan]


@pytest.mark.shows("E-017")
def test_a_new_owner_moves_the_record(store: Store[ServiceRecord]) -> None:
    store.observe(service("a", 1))
    moved = service("a", 2, Owner("PyTorchJob", "job", "uid-next"))
    store.observe(moved)
    assert store.of_owner("ns", "uid-job") == ()
    assert store.of_owner("ns", "uid-next") == (moved,)


def test_every_handler_gets_old_and_new(store: Store[ServiceRecord], changes: list[Change[ServiceRecord]]) -> None:
    first, second = service("a", 1), service("a", 2)
    store.observe(first)
    store.observe(second)
    store.remove(service("a", 2))  # some servers tell the end with the last version
    assert store.of_owner("ns", "uid-job") == ()
    assert changes == [Change(None, first), Change(first, second), Change(second, None)]


def test_answers_to_requests_are_told_like_what_a_watch_delivers(
    store: Store[ServiceRecord], changes: list[Change[ServiceRecord]]
) -> None:
    first, second = service("a", 1), service("a", 3, Owner("PyTorchJob", "job", "uid-next"))
    store.put(first)
    store.put(second)
    store.put(service("a", 2))  # the answer to an earlier request, which comes late
    assert changes == [Change(None, first), Change(first, second)]
    assert (store.of_owner("ns", "uid-job"), store.of_owner("ns", "uid-next")) == ((), (second,))
    store.remove(service("a", 4))
    assert store._by_owner == {}, "nothing is left of owners whose objects have gone"


@pytest.mark.shows("E-015")
def test_what_is_older_than_known_says_nothing(
    store: Store[ServiceRecord], changes: list[Change[ServiceRecord]]
) -> None:
    store.put(service("a", 10))  # the answer to a write of ours
    for late in (9, 10):
        store.observe(service("a", late))
    store.remove(service("a", 9))  # the deletion of a predecessor
    assert store.get("ns", "a") == service("a", 10)
    assert len(changes) == 1


def test_versions_are_compared_as_numbers(store: Store[ServiceRecord]) -> None:
    store.observe(service("a", 99))
    store.observe(service("a", 100))
    assert store.get("ns", "a") == service("a", 100)


def test_of_versions_that_are_no_numbers_the_last_counts(store: Store[ServiceRecord]) -> None:
    store.observe(service("a", "x9"))
    store.observe(service("a", "x10"))
    store.put(service("a", "x11"))
    assert store.get("ns", "a") == service("a", "x11")
    store.remove(service("a", "x12"))
    assert len(store) == 0


def test_a_late_answer_does_not_bring_back_what_the_watch_has_seen_deleted(store: Store[ServiceRecord]) -> None:
    created = service("a", 5)
    store.observe(created)
    store.remove(service("a", 8))
    store.put(created)
    assert len(store) == 0
    store.put(service("a", 9))  # created again
    assert len(store) == 1


def test_the_answer_to_a_deletion_does_not_bring_back_what_the_watch_delivered_first(
    store: Store[ServiceRecord],
) -> None:
    """An API server may answer with the object as it was deleted: then both have the version of the deletion."""
    store.observe(service("a", 5))
    store.remove(service("a", 8))
    store.put(service("a", 8))
    assert len(store) == 0


def test_what_was_deleted_for_us_does_not_come_back_with_late_lines_of_the_watch(store: Store[ServiceRecord]) -> None:
    deleted, other = service("a", 5), service("b", 6)
    store.observe(deleted)
    store.observe(other)
    store.gone(deleted)
    assert list(store) == [other]
    store.observe(service("a", 7))  # a change that came before the deletion
    store.replace([service("a", 7), other], "7")  # a list that is as old
    store.observe(service("a", 8))
    assert list(store) == [other]
    assert store.version == "8"
    store.remove(service("a", 9))
    store.observe(service("a", 10))  # uids do not return, but nothing more is held against this one
    assert store.get("ns", "a") == service("a", 10)


def test_what_was_deleted_for_us_is_not_remembered_beyond_a_list_without_it(store: Store[ServiceRecord]) -> None:
    store.observe(service("a", 5))
    store.gone(service("a", 5))
    store.replace([], "9")
    store.observe(service("a", 10))
    assert len(store) == 1


def test_what_the_watch_has_seen_deleted_before_the_answer_is_not_remembered(store: Store[ServiceRecord]) -> None:
    store.observe(service("a", 5))
    store.remove(service("a", 6))
    store.gone(service("a", 5))
    store.observe(service("a", 7))
    assert len(store) == 1


def test_what_has_the_name_of_what_was_deleted_for_us_stays(store: Store[ServiceRecord]) -> None:
    successor = service("a", 9, uid="next")
    store.observe(successor)
    store.gone(service("a", 5))
    assert list(store) == [successor]


def test_a_list_replaces_everything_in_one_step(
    store: Store[ServiceRecord], changes: list[Change[ServiceRecord]]
) -> None:
    same, gone, changed = service("same", 1), service("gone", 2), service("changed", 3)
    for record in (same, gone, changed):
        store.observe(record)
    changes.clear()
    new, newer = service("new", 7), service("changed", 6)
    store.replace([same, newer, new], "8")
    assert changes == [Change(gone, None), Change(changed, newer, True), Change(None, new, True)]
    assert store.version == "8"


def test_a_list_does_not_take_back_what_was_written_after_it(store: Store[ServiceRecord]) -> None:
    store.put(service("fresh", 20))
    store.put(service("changed", 21))
    store.replace([service("changed", 3)], "15")
    assert {record.version for record in store} == {"20", "21"}


def test_a_list_keeps_what_is_known_of_objects_it_could_not_read(store: Store[ServiceRecord]) -> None:
    broken = service("broken", 1)
    store.observe(broken)
    store.replace([], "9", keep=[("ns", "broken")])
    assert list(store) == [broken]


def test_the_version_never_goes_back_but_by_a_list(store: Store[ServiceRecord]) -> None:
    assert store.version == ""
    store.advance("10")
    store.advance("9")
    store.advance("")
    assert store.version == "10"
    store.replace([], "5")
    assert store.version == "5"
