from __future__ import annotations

from typing import Any

import pytest

from training_controllers.model.json_patch import changes_nothing, contains, merge_patch, patch_of_fields


@pytest.mark.parametrize(
    ("stored", "wanted", "patch"),
    [
        ({"a": 1, "b": {"c": 2}}, {"a": 1, "b": {"c": 2}}, {}),
        ({"a": 1}, {"a": 2}, {"a": 2}),
        ({}, {"a": 1}, {"a": 1}),
        ({"a": 1, "b": 2}, {"b": 2}, {"a": None}),
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": 1, "c": 3}}, {"a": {"c": 3}}),
        ({"a": {"b": 1}}, {"a": 1}, {"a": 1}),
        ({"a": 1}, {"a": {"b": 1}}, {"a": {"b": 1}}),
        ({"a": [1, 2]}, {"a": [1]}, {"a": [1]}),
    ],
)
def test_a_merge_patch_says_what_differs(stored: dict[str, Any], wanted: dict[str, Any], patch: dict[str, Any]) -> None:
    assert merge_patch(stored, wanted) == patch
    assert changes_nothing(stored, patch) is (stored == wanted)
    assert changes_nothing(wanted, patch)


def test_only_fields_that_are_ours_are_set_or_removed() -> None:
    stored = {"ours": 1, "empty": "", "null": None, "theirs": 2}
    assert patch_of_fields(stored, {"ours": 1, "empty": None, "null": None, "absent": None}) == {}
    assert patch_of_fields(stored, {"ours": None}) == {"ours": None}
    assert patch_of_fields(stored, {"ours": 3, "empty": "x"}) == {"ours": 3, "empty": "x"}


@pytest.mark.parametrize(
    ("stored", "patch", "nothing"),
    [
        (1, 1, True),
        (1, 2, False),
        (1, {}, False),
        ({}, {"a": None}, True),
        ({"a": {"b": 1}}, {"a": {}}, True),
        ({"a": {"b": 1}}, {"a": {"b": None}}, False),
        ({"a": 1}, {"a": 1, "b": 2}, False),
    ],
)
def test_a_patch_that_is_already_true_changes_nothing(stored: Any, patch: Any, nothing: bool) -> None:
    assert changes_nothing(stored, patch) is nothing


@pytest.mark.parametrize(
    ("stored", "wanted", "has"),
    [
        ({"a": 1, "defaulted": 2}, {"a": 1}, True),
        ({"a": 1}, {"a": 1, "b": 2}, False),
        ({"a": 1}, {"a": 1, "b": None}, True),
        ({"a": 1}, {"a": 1, "b": []}, True),
        ({"a": 1}, {"a": 1, "b": ()}, True),
        ({"a": 1}, {"a": 1, "b": 0}, False),
        (None, {"a": 1}, False),
        ([{"a": 1, "defaulted": 2}], ({"a": 1},), True),
        ([{"a": 1}], [{"a": 2}], False),
        ([1, 2], [1], False),
        ([1, 2], [1, 3], False),
        ({"a": 1}, [1], False),
        ("x", "x", True),
        ("x", "y", False),
    ],
)
def test_what_the_api_server_adds_does_not_matter(stored: Any, wanted: Any, has: bool) -> None:
    assert contains(stored, wanted) is has
