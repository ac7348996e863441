"""Versions, history and compaction."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from training_local.apiserver.storage import HISTORY_LENGTH, HISTORY_SECONDS, Storage

KEY = ("", "configmaps")


def _object(name: str, namespace: str = "n", **more: Any) -> dict[str, Any]:
    return {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": name, "namespace": namespace}, **more}


class _Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_lists_are_sorted_as_etcd_sorts_keys() -> None:
    storage = Storage(_Clock())
    for namespace, name in (("a", "x"), ("a-b", "w"), ("a", "b"), ("a.c", "v")):
        storage.put(KEY, _object(name, namespace))
    keys = [entry.key for entry in storage.collection(KEY).entries()]
    assert keys == sorted(keys) == ["a-b/w", "a.c/v", "a/b", "a/x"]


WRITES = st.lists(st.tuples(st.sampled_from("abcd"), st.booleans()), max_size=30)


@given(WRITES)
def test_the_past_is_as_it_was(writes: list[tuple[str, bool]]) -> None:
    storage = Storage(_Clock())
    collection = storage.collection(KEY)
    past: dict[int, list[bytes]] = {storage.version: []}
    for name, removes in writes:
        entry = collection.get("n", name)
        if removes and entry is not None:
            storage.remove(KEY, entry)
        else:
            storage.put(KEY, _object(name, data=len(past)))
        past[storage.version] = [each.raw for each in collection.entries()]
    for version, raws in past.items():
        assert [each.raw for each in collection.entries(at=version)] == raws
        assert [change.version for change in collection.since(version)] == [v for v in past if v > version]


def test_history_is_bounded_in_length_and_in_time() -> None:
    clock = _Clock()
    storage = Storage(clock)
    collection = storage.collection(KEY)
    for _ in range(HISTORY_LENGTH + 5):
        storage.put(KEY, _object("a"))
    assert len(collection.history) == HISTORY_LENGTH
    clock.now = HISTORY_SECONDS + 1
    last = storage.put(KEY, _object("a"))
    assert [change.version for change in collection.history] == [last.version]
    assert collection.compacted == last.version - 1
