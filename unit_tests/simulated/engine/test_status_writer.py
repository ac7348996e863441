from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from training_controllers.model.json_patch import merge_patch

VALUES = st.integers(0, 2) | st.sampled_from("xyz") | st.lists(st.integers(0, 2), max_size=2)
OBJECTS = st.dictionaries(
    st.sampled_from("abc"),
    st.recursive(VALUES, lambda inner: st.dictionaries(st.sampled_from("abc"), inner, max_size=3)),
    max_size=3,
)


def apply(stored: Any, patch: Any) -> Any:
    """RFC 7386, as the API server does it."""
    if not isinstance(patch, dict):
        return patch
    result = dict(stored) if isinstance(stored, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = apply(result.get(key), value)
    return result


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(OBJECTS, OBJECTS)
def test_a_merge_patch_leads_from_what_is_stored_to_what_is_wanted(
    stored: dict[str, Any], wanted: dict[str, Any]
) -> None:
    assert apply(stored, merge_patch(stored, wanted)) == wanted


def test_a_merge_patch_says_only_what_changes() -> None:
    stored = {"replicaStatuses": {"Worker": {"active": 2, "failed": 1}, "Master": {}}, "startTime": "then"}
    wanted = {"replicaStatuses": {"Worker": {"active": 2, "succeeded": 1}}, "startTime": "then"}
    assert merge_patch(stored, wanted) == {
        "replicaStatuses": {"Worker": {"failed": None, "succeeded": 1}, "Master": None}
    }


def test_an_empty_entry_that_is_missing_is_added() -> None:
    assert merge_patch({}, {"replicaStatuses": {"Worker": {}}}) == {"replicaStatuses": {"Worker": {}}}
