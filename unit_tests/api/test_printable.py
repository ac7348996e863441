"""What is legible: bounded, on one line, and nothing in it that cannot be seen."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from training_api.models.common import ConditionStatus, JobCondition, Waiting
from training_api.printable import LIMIT, legible

JOINERS = str.maketrans("", "", "\u200c\u200d")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("PyTorchJob default/sim is  running.", "PyTorchJob default/sim is  running."),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b[2J\x1b]0;title\x07", r"\x1b[2J\x1b]0;title\x07"),
        ("evil\u202egnp.exe\u2066", r"evil\u202egnp.exe\u2066"),
        ("hidden\U000e0041", r"hidden\U000e0041"),
        ("lone \ud800", r"lone \ud800"),
        ("first\r\n  second\u2028third\n", "first second third"),
        ("a\tb\u00a0c", "a b c"),
        ("日本語 ✓ é 👩\u200d🔬", "日本語 ✓ é 👩\u200d🔬"),
        ("x" * LIMIT, "x" * LIMIT),
        ("x" * (LIMIT + 1), "x" * (LIMIT - 3) + "..."),
        ("\x1b[31m" * 200_000 + "x", r"\x1b[..."),
        ("\x00" * 400, r"\x00" * 255 + r"\..."),
    ],
    ids=lambda text: ascii(text[:20]),
)
def test_what_becomes_of_a_text(text: str, shown: str) -> None:
    assert legible(text) == shown


@given(st.text(max_size=60), st.integers(10, 40))
def test_any_text_becomes_short_and_visible_and_then_stays_as_it_is(text: str, most: int) -> None:
    shown = legible(text, most)
    assert len(shown) <= most
    assert shown.translate(JOINERS).isprintable()
    assert legible(shown, most) == shown


def test_conditions_and_reasons_to_wait_hold_nothing_else() -> None:
    hostile = "\x1b[2J" + "x" * 200_000
    condition = JobCondition(type=hostile, status=ConditionStatus.TRUE, reason=hostile, message=hostile)
    waiting = Waiting(reason=hostile, message=hostile)
    texts = {condition.type, condition.reason, condition.message, waiting.reason, waiting.message}
    assert texts == {legible(hostile)}
