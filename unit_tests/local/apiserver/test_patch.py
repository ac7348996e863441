"""Patches that cannot be read or applied."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from training_local.apiserver.errors import ApiError
from training_local.apiserver.patch import JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH, apply_patch
from training_local.apiserver.types import BUILTIN

PODS = next(type for type in BUILTIN if type.kind == "Pod")
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "add", "path": "/x/y", "value": 1},
        {"op": "remove", "path": "/x"},
        {"op": "replace", "path": "/l/5", "value": 1},
        {"op": "test", "path": "/a", "value": True},
        {"op": "copy", "from": "/l/9", "path": "/y"},
        {"op": "add", "path": "/l/x", "value": 1},
        {"op": "surprise", "path": "/a"},
        {"op": "add", "path": 5, "value": 1},
        {"op": "add"},
    ],
)
def test_json_patch_that_cannot_be_applied(operation: Any) -> None:
    with pytest.raises(ApiError) as rejected:
        apply_patch(JSON_PATCH, {"a": 1, "l": [1]}, json.dumps([operation]).encode(), PODS)
    assert rejected.value.code == 422
    assert (rejected.value.details or {})["causes"][0]["message"]


@given(
    st.dictionaries(st.text(max_size=2), JSON_VALUES, max_size=3),
    JSON_VALUES,
    st.sampled_from([JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH]),
)
def test_no_patch_breaks_the_server(original: dict[str, Any], patch: Any, content_type: str) -> None:
    try:
        patched = apply_patch(content_type, original, json.dumps(patch).encode(), PODS)
    except ApiError as error:
        assert error.code in (400, 422, 500)
    else:
        assert isinstance(patched, dict)


def test_broken_patches_are_bad_requests() -> None:
    for content_type in (JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH):
        with pytest.raises(ApiError) as rejected:
            apply_patch(content_type, {}, b"{", PODS)
        assert rejected.value.code == 400
