"""Patches of all kinds, applied to an object before it is decoded anew."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import jsonpatch
import msgspec
from jsonpointer import JsonPointerException

from training_local.apiserver.builtin.schemas import component_schemas
from training_local.apiserver.errors import ApiError, Json, bad_request, json_kind, unsupported_media_type
from training_local.apiserver.ownership.apply import APPLY_PATCH
from training_local.apiserver.resource_types import ResourceType
from training_local.apiserver.strategic_merge import BadPatch, StrategicMerge

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_MERGE_PATCH = "application/strategic-merge-patch+json"
OPERATIONS_LIMIT = 10_000
REJECTED = "the server rejected our request due to an error in our request"


def require_patch_type(content_type: str, type: ResourceType) -> None:
    """Raise a 415 for a kind of patch that a type does not take."""
    known = content_type in _KINDS
    if not known and not type.custom:
        raise ApiError(415, "UnsupportedMediaType", "415: Unsupported Media Type", {})
    if not known or (type.custom and content_type == STRATEGIC_MERGE_PATCH):
        listed = f"{JSON_PATCH}, {MERGE_PATCH}, {APPLY_PATCH}"
        raise unsupported_media_type(
            f"the body of the request was in an unknown format - accepted media types include: {listed}"
        )


def apply_patch(content_type: str, original: Json, patch: bytes, type: ResourceType) -> Json:
    """Return what becomes of `original`, which is taken over; raises `ApiError` (400, 413, 422, 500)."""
    patched = _KINDS[content_type](original, patch, type)
    if not isinstance(patched, dict):
        raise ApiError(422, "Invalid", REJECTED, {})
    return patched


def _read(patch: bytes, expected: type, go_type: str) -> Any:
    try:
        value = msgspec.json.decode(patch)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise bad_request(f"error decoding patch: {error}") from None
    if not isinstance(value, expected):
        found = json_kind(value)
        raise bad_request(f"error decoding patch: json: cannot unmarshal {found} into Go value of type {go_type}")
    return value


def _json_patch(original: Json, patch: bytes, type: ResourceType) -> Any:
    operations = _read(patch, list, "[]handlers.jsonPatchOp")
    if len(operations) > OPERATIONS_LIMIT:
        said = f"The allowed maximum operations in a JSON patch is {OPERATIONS_LIMIT}, got {len(operations)}"
        raise ApiError(413, "RequestEntityTooLarge", f"Request entity too large: {said}")
    if not all(isinstance(operation, dict) for operation in operations):
        raise bad_request("error decoding patch: json: cannot unmarshal into Go value of type jsonpatch.Operation")
    try:
        return jsonpatch.apply_patch(original, operations, in_place=True)
    except (jsonpatch.JsonPatchException, JsonPointerException) as error:
        # The real server keeps the cause to itself; it is said here because it is what a user needs.
        cause = {"reason": "UnexpectedServerResponse", "message": str(error)}
        raise ApiError(422, "Invalid", REJECTED, {"causes": [cause]}) from None


def _merge_patch(original: Json, patch: bytes, type: ResourceType) -> Any:
    return merge(original, _read(patch, dict, "map[string]interface {}"))


def merge(original: Any, patch: Any) -> Any:
    """Merge a JSON merge patch (RFC 7386) into a value, which is taken over."""
    if not isinstance(patch, dict):
        return patch
    merged = original if isinstance(original, dict) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = merge(merged.get(key), value)
    return merged


@cache
def _strategic() -> StrategicMerge:
    return StrategicMerge(component_schemas().__getitem__)


def _strategic_merge_patch(original: Json, patch: bytes, type: ResourceType) -> Any:
    change = _read(patch, dict, "map[string]interface {}")
    try:
        return _strategic().merge(original, change, type.schema or {})
    except BadPatch as error:
        raise ApiError(500, "", str(error)) if error.server_error else bad_request(str(error)) from None


_KINDS: Mapping[str, Callable[[Json, bytes, ResourceType], Any]] = {
    JSON_PATCH: _json_patch,
    MERGE_PATCH: _merge_patch,
    STRATEGIC_MERGE_PATCH: _strategic_merge_patch,
}
