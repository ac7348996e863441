"""JSON merge patches (RFC 7386): what to send so that a stored object becomes as desired, and whether it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def merge_patch(stored: Mapping[str, Any], wanted: Mapping[str, Any]) -> dict[str, Any]:
    """The patch that turns `stored` into `wanted`; empty if they are equal."""
    patch: dict[str, Any] = {key: None for key in stored if key not in wanted}
    for key, value in wanted.items():
        old = stored.get(key)
        if isinstance(value, Mapping) and isinstance(old, Mapping):
            if nested := merge_patch(old, value):
                patch[key] = nested
        elif old != value:
            patch[key] = value
    return patch


def patch_of_fields(stored: Mapping[str, Any], fields: Mapping[str, Any]) -> dict[str, Any]:
    """The patch that sets `fields` and removes those that are None; other fields belong to other writers."""
    before = {key: stored[key] for key in fields if stored.get(key) not in (None, "")}
    return merge_patch(before, {key: value for key, value in fields.items() if value is not None})


def changes_nothing(stored: Any, patch: Any) -> bool:
    """Whether the merge patch is already true of `stored`."""
    if not isinstance(patch, Mapping):
        return bool(stored == patch)
    return isinstance(stored, Mapping) and all(changes_nothing(stored.get(key), each) for key, each in patch.items())


def contains(stored: Any, wanted: Any) -> bool:
    """Whether `stored` has everything of `wanted`; what the API server defaulted does not matter."""
    if isinstance(wanted, Mapping):
        return isinstance(stored, Mapping) and all(contains(stored.get(key), each) for key, each in wanted.items())
    if isinstance(wanted, list | tuple) and wanted:
        same_length = isinstance(stored, list) and len(stored) == len(wanted)
        return same_length and all(map(contains, stored, wanted))
    return bool(stored == wanted) or wanted in ([], (), None)
