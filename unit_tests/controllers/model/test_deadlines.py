from __future__ import annotations

from datetime import timedelta

import pytest
from unit_tests.controllers.builders import START

from training_controllers.model.deadlines import is_past, seconds_until


@pytest.mark.shows("K-02")
def test_the_nearest_moment_counts() -> None:
    later, sooner = START + timedelta(seconds=9), START + timedelta(seconds=4)
    assert seconds_until(START, [later, None, sooner]) == 4


def test_a_moment_that_has_passed_is_now() -> None:
    assert seconds_until(START, [START - timedelta(seconds=4)]) == 0


def test_no_moment_no_timer() -> None:
    assert seconds_until(START, [None]) is None
    assert not is_past(None, START)


def test_a_moment_is_past_when_it_has_come() -> None:
    assert is_past(START, START)
    assert not is_past(START + timedelta(microseconds=1), START)
