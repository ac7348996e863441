"""Apply patches: their checks and outcome, and what is special about `kubectl` (Kubernetes API: server-side apply)."""

from __future__ import annotations

import json
from collections.abc import Sequence

import msgspec

from training_local.apiserver.errors import ApiError, Json, bad_request
from training_local.apiserver.ownership import elements, merge
from training_local.apiserver.ownership.field_set import FieldSet
from training_local.apiserver.ownership.fit import problems
from training_local.apiserver.ownership.managed import Managed
from training_local.apiserver.ownership.typed import BadItem, compare, field_set
from training_local.apiserver.resource_types import ResourceType

APPLY_PATCH = "application/apply-patch+yaml"
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
KUBECTL = "kubectl"


def applied(
    live: Json, config: Json, managed: Managed, request: merge.Request, type: ResourceType, *, force: bool
) -> tuple[Json, Managed]:
    """Return the outcome of an apply patch on `live`, not yet decoded, and its owners; raises `ApiError`."""
    _check(config, type, request)
    try:
        merged, after = _merged(live, config, managed, request, force=force)
    except merge.Conflicts as conflicts:
        raise _conflict(conflicts) from None
    except BadItem as error:
        raise ApiError(500, "", f"failed to apply: {error}") from None
    if request.manager == KUBECTL and _last_applied(merged):
        merged = _with_last_applied(merged, config)
    return merged, after


def _check(config: Json, type: ResourceType, request: merge.Request) -> None:
    version, kind = (found if isinstance(found := config.get(key), str) else "" for key in ("apiVersion", "kind"))
    meta = found if isinstance(found := config.get("metadata"), dict) else {}
    if (version, kind) != (type.api_version, type.kind):
        raise bad_request(f"invalid object type: {_shown_kind(version, kind)}")
    if meta.get("managedFields") is not None:
        raise bad_request("metadata.managedFields must be nil")
    if found := problems(config, request.level):
        named = f"{meta.get('namespace', '')}/{meta.get('name', '')}; {_shown_kind(version, kind)}"
        said = found[0] if len(found) == 1 else "\n  ".join(["errors:", *found])
        raise ApiError(500, "", f"failed to create typed patch object ({named}): {said}")


def _shown_kind(version: str, kind: str) -> str:
    group, _, name = version.rpartition("/")
    return f"{group}/{name}, Kind={kind}"


def _merged(live: Json, config: Json, managed: Managed, request: merge.Request, *, force: bool) -> tuple[Json, Managed]:
    """Apply; `kubectl` takes over without conflict what it applied on the client's side before."""
    if not managed and "uid" in live.get("metadata", {}):
        managed = merge.first_owner(live, request)
    try:
        return merge.apply(live, config, managed, request, force=force)
    except merge.Conflicts as conflicts:
        if request.manager != KUBECTL or (mine := _applied_by_client(live, request)) is None:
            raise
        if (left := conflicts.without(mine)).fields:
            raise left from None
        return merge.apply(live, config, managed, request, force=True)


def _applied_by_client(live: Json, request: merge.Request) -> FieldSet | None:
    """Return the fields that the annotation of client-side apply has with the values they still have."""
    try:
        last = json.loads(_last_applied(live))
    except ValueError:
        return None
    if not isinstance(last, dict) or last.get("apiVersion") != request.version or problems(last, request.level):
        return None
    change = compare(last, live, request.level)
    return field_set(last, request.level) - change.modified - change.added - change.removed


def _last_applied(obj: Json) -> str:
    return str((obj.get("metadata", {}).get("annotations") or {}).get(LAST_APPLIED, ""))


def _with_last_applied(obj: Json, config: Json) -> Json:
    """Return the object with the annotation of client-side apply brought up to date."""
    meta = config.get("metadata") or {}
    others = {key: value for key, value in (meta.get("annotations") or {}).items() if key != LAST_APPLIED}
    rest = {key: value for key, value in meta.items() if key != "annotations"}
    plain = {**config, "metadata": {**rest, **({"annotations": others} if "annotations" in meta else {})}}
    text = msgspec.json.encode(plain, order="sorted").decode() + "\n"
    annotations = {**obj["metadata"]["annotations"], LAST_APPLIED: text}
    return {**obj, "metadata": {**obj["metadata"], "annotations": annotations}}


def _conflict(conflicts: merge.Conflicts) -> ApiError:
    listed = [(str(manager), elements.text(path)) for manager, path in conflicts.listed()]
    causes = [
        {"reason": "FieldManagerConflict", "message": f"conflict with {manager}", "field": path}
        for manager, path in listed
    ]
    return ApiError(409, "Conflict", _conflict_text(listed), {"causes": causes})


def _conflict_text(listed: Sequence[tuple[str, str]]) -> str:
    if len(listed) == 1:
        return f"Apply failed with 1 conflict: conflict with {listed[0][0]}: {listed[0][1]}"
    lines = []
    for manager in dict.fromkeys(manager for manager, _ in listed):
        lines.append(f"conflicts with {manager}:")
        lines += [f"- {path}" for owner, path in listed if owner == manager]
    return f"Apply failed with {len(listed)} conflicts: " + "\n".join(lines)
