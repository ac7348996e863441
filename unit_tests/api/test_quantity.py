from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from training_api import quantity


@pytest.mark.parametrize(
    ("given_text", "stored"),
    [
        ("1000m", "1"),
        ("1500m", "1500m"),
        ("1.5", "1500m"),
        ("1.500", "1.500"),
        ("0.5", "500m"),
        ("1024Mi", "1Gi"),
        ("1500Mi", "1500Mi"),
        ("1.5Gi", "1536Mi"),
        ("0.5Mi", "512Ki"),
        ("1000Ki", "1000Ki"),
        ("512", "512"),
        ("1e3", "1e3"),
        ("10e2", "1e3"),
        ("100000k", "100M"),
        ("+5", "+5"),
        ("-1", "-1"),
        ("0", "0"),
        ("0Mi", "0"),
        ("00.10", "100m"),
        ("1n", "1n"),
        ("0.1n", "1n"),
    ],
)
def test_stored_form(given_text: str, stored: str) -> None:
    assert quantity.canonical(given_text) == stored


@pytest.mark.parametrize("text", ["", "x", "1x", "1.2.3", "1 Gi", "--1", "1ee3", "Gi", ".", "\u0661"])
def test_no_quantity(text: str) -> None:
    with pytest.raises(ValueError, match="quantit"):
        quantity.parse(text)


@given(
    st.integers(0, 10**9),
    st.sampled_from(["", "n", "u", "m", "k", "M", "G", "Ki", "Mi", "Gi", "e3", "e-3"]),
    st.sampled_from(["", ".0", ".5", ".125"]),
)
@example(60203, "Ki", ".125")
def test_the_stored_form_means_the_same(number: int, suffix: str, fraction: str) -> None:
    text = f"{number}{fraction}{suffix}"
    stored = quantity.canonical(text)
    # What lost its binary suffix is read as decimal the next time, by the real server too; then it stays.
    again = quantity.canonical(stored)
    assert quantity.parse(stored) == quantity.parse(again) == quantity.parse(text)
    assert quantity.canonical(again) == again


def test_lists_of_resources_are_rounded_up_to_thousandths() -> None:
    assert quantity.at_least_milli("100n") == "1m"
    assert quantity.at_least_milli("1500m") == "1500m"
    assert quantity.parse("1.5Ki") == Fraction(1536)


@pytest.mark.parametrize(
    ("summands", "total"),
    [
        (("500m", "500m"), "1"),
        (("1Gi", "512Mi"), "1536Mi"),
        (("0", "1Gi"), "1Gi"),
        (("1G", "1Gi"), "2073741824"),
        (("100m", "1"), "1100m"),
        (("1e3", "1k"), "2e3"),
    ],
)
def test_a_sum_is_written_as_its_first_summand_is(summands: tuple[str, str], total: str) -> None:
    first, second = map(quantity.amount, summands)
    assert str(first.plus(second)) == total
    assert str(first.times(2)) == str(first.plus(first))
