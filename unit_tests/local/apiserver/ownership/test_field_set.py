"""Sets of field paths obey the laws of sets, and survive being written down."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from training_local.apiserver.ownership import elements
from training_local.apiserver.ownership.elements import Path
from training_local.apiserver.ownership.field_set import FieldSet

ELEMENTS = st.sampled_from(["f:a", "f:b", "f:c", 'k:{"name":"x"}', 'k:{"name":"y"}', "v:1", 'v:"z"'])
PATHS = st.lists(st.lists(ELEMENTS, min_size=1, max_size=4).map(tuple), max_size=8)
SETS = PATHS.map(lambda paths: FieldSet.of(*paths))


def as_set(fields: FieldSet) -> set[Path]:
    return set(fields.paths())


@given(PATHS)
def test_holds_what_is_put_in(paths: list[Path]) -> None:
    found = FieldSet.of(*paths)
    assert as_set(found) == set(paths)
    assert all(path in found for path in paths)
    assert bool(found) == bool(paths)


@given(SETS, SETS)
def test_operations_are_those_of_sets(one: FieldSet, other: FieldSet) -> None:
    assert as_set(one | other) == as_set(one) | as_set(other)
    assert as_set(one & other) == as_set(one) & as_set(other)
    assert as_set(one - other) == as_set(one) - as_set(other)


@given(SETS, SETS)
def test_whole_trees_are_taken_out(one: FieldSet, other: FieldSet) -> None:
    gone = as_set(other)
    expected = {path for path in as_set(one) if not any(path[: len(each)] == each for each in gone)}
    assert as_set(one.without_trees(other)) == expected


@given(SETS)
def test_written_and_read(fields: FieldSet) -> None:
    written = json.loads(json.dumps(fields.written()))
    assert FieldSet.read(written) == fields


@given(SETS, SETS)
def test_operands_stay_as_they_are(one: FieldSet, other: FieldSet) -> None:
    before = as_set(one), as_set(other)
    for result in (one | other, one & other, one - other, one.without_trees(other)):
        assert result is not other
    assert (as_set(one), as_set(other)) == before


def test_the_written_form() -> None:
    fields = FieldSet.of(("f:spec",), ("f:spec", "f:ports", 'k:{"port":80,"protocol":"TCP"}'), ("f:x",))
    assert fields.written() == {"f:spec": {".": {}, "f:ports": {'k:{"port":80,"protocol":"TCP"}': {}}}, "f:x": {}}


def test_unknown_elements_are_left_out() -> None:
    assert as_set(FieldSet.read({"f:a": {}, "q:b": {"f:c": {}}, "f:d": {"i:0": {}}})) == {("f:a",), ("f:d",)}


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        (("f:spec", "f:replicas"), ".spec.replicas"),
        (("f:a", 'k:{"port":80,"protocol":"TCP"}', "f:b"), '.a[port=80,protocol="TCP"].b'),
        (("f:a", 'v:"x"'), '.a[="x"]'),
        (("f:a", "v:true"), ".a[=true]"),
    ],
)
def test_paths_in_messages(path: Path, shown: str) -> None:
    assert elements.text(path) == shown


def test_the_order_in_messages() -> None:
    mixed = ['v:"b"', 'k:{"n":10}', "f:b", 'k:{"n":9}', "f:a", "v:2", "v:true"]
    assert sorted(mixed, key=elements.order) == ["f:a", "f:b", 'k:{"n":9}', 'k:{"n":10}', "v:2", 'v:"b"', "v:true"]
