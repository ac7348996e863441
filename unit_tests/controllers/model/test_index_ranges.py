from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from training_controllers.model.index_ranges import format_ranges, parse_ranges


@pytest.mark.shows("K-13")
@pytest.mark.parametrize(
    ("indexes", "text"), [((), ""), ((0,), "0"), ((0, 1, 2, 3, 7), "0-3,7"), ((5, 3, 4), "3-5"), ((1, 3), "1,3")]
)
def test_indexes_are_written_as_ranges(indexes: tuple[int, ...], text: str) -> None:
    assert format_ranges(indexes) == text
    assert parse_ranges(text) == frozenset(indexes)


@given(st.frozensets(st.integers(0, 300)))
def test_what_is_written_can_be_read(indexes: frozenset[int]) -> None:
    assert parse_ranges(format_ranges(indexes)) == indexes


@pytest.mark.shows("K-40")
@pytest.mark.parametrize(
    "text", ["x", "1,", ",", "3-1", "-1", "1-", "1-2-3", " 1", "1e3", "0-99999999999", "0-2000000", "٣", "1,x"]
)
def test_a_text_that_is_not_ours_means_nothing(text: str) -> None:
    assert parse_ranges(text) == frozenset()


@pytest.mark.shows("K-40")
@given(st.text(max_size=30))
def test_no_text_is_fatal(text: str) -> None:
    parse_ranges(text)
