"""Label selectors beyond what the recorded cases show."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from training_local.apiserver.errors import ApiError
from training_local.apiserver.selectors import label_selector

LABELS = {"app": "web", "tier": "front", "number": "7", "empty": ""}


@pytest.mark.parametrize(
    ("text", "selected"),
    [
        ("", True),
        ("app", True),
        ("!app", False),
        ("absent", False),
        ("!absent", True),
        ("app=web", True),
        ("app==web", True),
        ("app = web , tier = front", True),
        ("app=web,tier=back", False),
        ("app!=web", False),
        ("absent!=web", True),
        ("app in (db, web)", True),
        ("app in (db)", False),
        ("app notin (db)", True),
        ("absent notin (db)", True),
        ("absent in (db)", False),
        ("empty=", True),
        ("empty in ()", True),
        ("app in (,web)", True),
        ("number>6", True),
        ("number>7", False),
        ("number<8", True),
        ("app<8", False),
        ("absent>0", False),
    ],
)
def test_selects(text: str, selected: bool) -> None:
    assert label_selector(text).matches(LABELS) is selected


@given(st.text("ab=!,()<> in", max_size=12))
def test_any_text_is_a_selector_or_a_bad_request(text: str) -> None:
    try:
        label_selector(text).matches(LABELS)
    except ApiError as error:
        assert error.code == 400
