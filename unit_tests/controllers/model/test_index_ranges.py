from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from training_controllers.model.index_ranges import IndexRanges, parse_ranges


@pytest.mark.shows("K-13")
@pytest.mark.parametrize(
    ("indexes", "text"), [((), ""), ((0,), "0"), ((0, 1, 2, 3, 7), "0-3,7"), ((5, 3, 4), "3-5"), ((1, 3), "1,3")]
)
def test_indexes_are_written_as_ranges(indexes: tuple[int, ...], text: str) -> None:
    assert str(IndexRanges.of(indexes)) == text
    assert set(parse_ranges(text)) == set(indexes)


@given(st.frozensets(st.integers(0, 300)))
def test_what_is_written_can_be_read(indexes: frozenset[int]) -> None:
    assert set(parse_ranges(str(IndexRanges.of(indexes)))) == indexes


@pytest.mark.shows("K-40")
@pytest.mark.parametrize(
    "text",
    ["x", "1,", ",", "3-1", "-1", "1-", "1-2-3", " 1", "1e3", "0-99999999999", "0-1000001", "00000001", "٣", "1,x"],
)
def test_a_text_that_is_not_ours_means_nothing(text: str) -> None:
    assert not parse_ranges(text)


@pytest.mark.shows("K-40")
@given(st.text(max_size=30))
def test_no_text_is_fatal(text: str) -> None:
    parse_ranges(text)


INDEXES = st.frozensets(st.integers(0, 60))


@given(INDEXES, INDEXES, st.integers(-1, 61))
def test_they_are_sets(one: frozenset[int], other: frozenset[int], count: int) -> None:
    first, second = IndexRanges.of(one), IndexRanges.of(other)
    assert set(first) == one
    assert list(first) == sorted(one)
    assert len(first) == len(one)
    assert [index in first for index in range(62)] == [index in one for index in range(62)]
    assert set(first.up_to(count)) == {index for index in one if index < count}
    made: Any
    for made, right in ((first | second, one | other), (first - second, one - other), (first & second, one & other)):
        assert made == right
        assert made.ranges == IndexRanges.of(right).ranges, "ranges neither overlap nor touch"


def test_a_set_costs_as_much_as_it_has_ranges() -> None:
    everybody = IndexRanges.below(2**31 - 1)
    missing = everybody - IndexRanges.of({5, 7}) - parse_ranges("0-3")
    assert missing.ranges == (range(4, 5), range(6, 7), range(8, 2**31 - 1))
    assert len(missing) == 2**31 - 1 - 6
    assert str(missing | parse_ranges("5,7")) == "4-2147483646"
    assert 2**31 - 2 in missing
    assert parse_ranges("0-1000000").ranges == (range(1_000_001),)
    text: Any = "4"
    assert text not in missing
    assert not IndexRanges.below(-1)
