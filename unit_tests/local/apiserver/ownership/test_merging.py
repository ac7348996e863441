"""Laws of updates and applies, over random objects of a schema with every type of list and map."""

from __future__ import annotations

from typing import Any

import pytest
from e2e.support.profiles import tries
from hypothesis import given, settings
from hypothesis import strategies as st

from training_local.apiserver.ownership import elements, merge
from training_local.apiserver.ownership.combine import merge as merged
from training_local.apiserver.ownership.combine import remove
from training_local.apiserver.ownership.field_set import FieldSet
from training_local.apiserver.ownership.fit import problems
from training_local.apiserver.ownership.levels import Level
from training_local.apiserver.ownership.managed import UNMANAGED, BadEntries, Managed, Manager
from training_local.apiserver.ownership.typed import compare, field_set

Json = dict[str, Any]
VERSION = "example.com/v1"
_ITEM = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "port": {"type": "integer", "default": 1}, "value": {"type": "string"}},
}
_LIST = {"type": "array", "items": {"type": "string"}}
LEVEL = Level(
    {
        "type": "object",
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "spec": {
                "type": "object",
                "properties": {
                    "text": {"type": "string"},
                    "number": {"type": "integer"},
                    "keyed": {
                        "type": "array",
                        "items": _ITEM,
                        "x-kubernetes-list-type": "map",
                        "x-kubernetes-list-map-keys": ["name", "port"],
                    },
                    "set": {**_LIST, "x-kubernetes-list-type": "set"},
                    "whole": _LIST,
                    "settings": {"type": "object", "additionalProperties": {"type": "string"}},
                    "selector": {
                        "type": "object",
                        "additionalProperties": {"type": "string"},
                        "x-kubernetes-map-type": "atomic",
                    },
                    "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                },
            },
        },
    }
)
WORDS = st.sampled_from(["a", "b", "c"])
MAPS = st.dictionaries(WORDS, WORDS, min_size=1, max_size=3)
ITEMS = st.fixed_dictionaries({"name": WORDS}, optional={"port": st.sampled_from([1, 2]), "value": WORDS})
KEYED = st.lists(ITEMS, min_size=1, max_size=4, unique_by=lambda item: (item["name"], item.get("port", 1)))
FREE = st.recursive(WORDS, lambda inner: st.dictionaries(WORDS, inner, min_size=1, max_size=2), max_leaves=4)
SPECS = st.fixed_dictionaries(
    {},
    optional={
        "text": WORDS,
        "number": st.integers(0, 3),
        "keyed": KEYED,
        "set": st.lists(WORDS, unique=True, min_size=1, max_size=3),
        "whole": st.lists(WORDS, min_size=1, max_size=3),
        "settings": MAPS,
        "selector": MAPS,
        "free": st.dictionaries(WORDS, FREE, min_size=1, max_size=2),
    },
)
OBJECTS = SPECS.map(lambda spec: {"apiVersion": VERSION, "kind": "Thing", **({"spec": spec} if spec else {})})
BARE: Json = {"apiVersion": VERSION, "kind": "Thing"}


def request(manager: str = "one") -> merge.Request:
    shape = merge.Shape(LEVEL, lambda obj: obj)
    return merge.Request(VERSION, manager, "2026-01-01T00:00:00Z", shapes={VERSION: shape}.get)


def apply(live: Json, config: Json, managed: Managed, manager: str = "one", *, force: bool = True) -> Any:
    return merge.apply(live, config, managed, request(manager), force=force)


def owned(managed: Managed, manager: str) -> FieldSet:
    found = managed.owners.get(Manager(manager, "Apply"))
    return found.fields if found else FieldSet()


@given(OBJECTS, OBJECTS)
def test_a_difference_in_both_directions(one: Json, other: Json) -> None:
    there, back = compare(one, other, LEVEL), compare(other, one, LEVEL)
    assert (there.added, there.removed, there.modified) == (back.removed, back.added, back.modified)
    assert not (there.added & there.removed or there.added & there.modified or there.removed & there.modified)
    assert bool(there.added or there.removed or there.modified) == (field_differs(one, other))


def field_differs(one: Json, other: Json) -> bool:
    """Order of items counts in lists that are owned as a whole only."""
    return _ordered(one) != _ordered(other)


def _ordered(obj: Json) -> Json:
    spec = dict(obj.get("spec", {}))
    if "set" in spec:
        spec["set"] = sorted(spec["set"])
    if "keyed" in spec:
        spec["keyed"] = sorted(map(repr, ({"port": 1, **item} for item in map(_sorted, spec["keyed"]))))
    return spec


def _sorted(item: Json) -> Json:
    return dict(sorted(item.items()))


@given(OBJECTS, OBJECTS)
def test_merging_keeps_what_is_said_and_nothing_else_goes(live: Json, config: Json) -> None:
    result = merged(live, config, LEVEL)
    assert not (field_set(config, LEVEL) - field_set(result, LEVEL))
    assert merged(result, config, LEVEL) == result
    assert problems(result, LEVEL) == []
    lost = compare(live, result, LEVEL).removed
    assert not lost or "free" in live.get("spec", {})  # where forms of values may change


@given(OBJECTS)
def test_removing_everything_leaves_nothing(obj: Json) -> None:
    assert remove(obj, field_set(obj, LEVEL) | FieldSet.of(("f:spec",)), LEVEL) is None


@given(OBJECTS, OBJECTS)
@settings(max_examples=tries(40))
def test_applying_twice_is_applying_once(live: Json, config: Json) -> None:
    first, managed = apply(live, config, UNMANAGED)
    second, again = apply(first, config, managed)
    assert second == first
    assert again == managed


@given(OBJECTS, OBJECTS)
def test_force_wins(live: Json, config: Json) -> None:
    live, managed = apply(BARE, live, UNMANAGED, "other")
    result, after = apply(live, config, managed)
    assert merged(result, config, LEVEL) == result
    assert not (owned(after, "other") & compare(live, result, LEVEL).modified)
    assert not (field_set(config, LEVEL) - FieldSet.of(("f:apiVersion",), ("f:kind",)) - owned(after, "one"))


@given(OBJECTS, OBJECTS)
@settings(max_examples=tries(40))
def test_without_force_no_manager_loses_anything(base: Json, config: Json) -> None:
    live, managed = apply(BARE, base, UNMANAGED, "other")
    try:
        result, after = apply(live, config, managed, force=False)
    except merge.Conflicts as conflicts:
        assert conflicts.listed()
        assert all(path in owned(managed, "other") for _, path in conflicts.listed())
        return
    assert owned(after, "other") == owned(managed, "other")
    assert not (field_set(base, LEVEL) - field_set(result, LEVEL))


@given(OBJECTS, OBJECTS)
@settings(max_examples=tries(40))
def test_who_goes_takes_only_what_is_his_alone(base: Json, config: Json) -> None:
    live, managed = apply(BARE, base, UNMANAGED, "other")
    try:
        both, managed = apply(live, config, managed, force=False)
    except merge.Conflicts:
        return
    left, after = apply(both, BARE, managed)
    assert owned(after, "one") == FieldSet()
    assert owned(after, "other") == owned(managed, "other")
    assert _ordered(left) == _ordered(live)


@given(OBJECTS, OBJECTS, OBJECTS)
def test_a_stranger_who_says_nothing_changes_nothing(base: Json, config: Json, change: Json) -> None:
    live, managed = apply(BARE, base, UNMANAGED, "other")
    managed = merge.update(live, change, managed, request("updater"))
    same, after = apply(change, BARE, managed, "stranger")
    assert same == change
    assert after == managed


@given(OBJECTS, OBJECTS)
def test_an_update_owns_what_it_changes(live: Json, new: Json) -> None:
    managed = merge.update(live, new, UNMANAGED, request("updater"))
    change = compare(live, new, LEVEL)
    found = managed.owners.get(Manager("updater", "Update", VERSION))
    assert (found.fields if found else FieldSet()) == change.added | change.modified


def test_an_update_takes_fields_from_appliers() -> None:
    live: Json = {**BARE, "spec": {"text": "a", "number": 1}}
    _, managed = apply(BARE, live, UNMANAGED)
    after = merge.update(live, {**BARE, "spec": {"text": "b", "number": 1}}, managed, request("updater"))
    assert after.owners[Manager("one", "Apply")].fields.written() == {"f:spec": {"f:number": {}}}
    assert after.owners[Manager("updater", "Update", VERSION)].fields.written() == {"f:spec": {"f:text": {}}}


def test_items_that_stand_there_twice_are_owned_as_one() -> None:
    twice: Json = {**BARE, "spec": {"set": ["a", "a", "b"]}}
    assert field_set(twice, LEVEL).written()["f:spec"] == {"f:set": {'v:"a"': {}, 'v:"b"': {}}}
    assert compare(twice, {**BARE, "spec": {"set": ["a", "b"]}}, LEVEL).removed.written()["f:spec"] == {
        "f:set": {'v:"a"': {}}
    }
    assert problems(twice, LEVEL) == ['.spec.set: duplicate entries for key [="a"]']


def test_entries_are_written_and_read() -> None:
    _, managed = apply(BARE, {**BARE, "spec": {"text": "a"}}, UNMANAGED)
    managed = merge.update(BARE, {**BARE, "spec": {"number": 1}}, managed, request("updater"))
    assert Managed.read(managed.entries()) == managed


@pytest.mark.parametrize(
    "entry",
    [
        {},
        {"operation": "Apply"},
        {"operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV2"},
        {"operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": []},
        {"operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": {"f:a": 1}},
        {"operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": {"k:[]": {}}},
        {"operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": {"k:{": {}}},
        "text",
    ],
)
def test_entries_that_make_no_sense(entry: Any) -> None:
    with pytest.raises(BadEntries):
        Managed.read([entry])


def test_the_order_of_conflicts() -> None:
    mixed = ['v:"b"', 'k:{"n":10}', "f:b", 'k:{"n":9}', "f:a", "v:2", "v:true"]
    assert sorted(mixed, key=elements.order) == ["f:a", "f:b", 'k:{"n":9}', 'k:{"n":10}', "v:2", 'v:"b"', "v:true"]
