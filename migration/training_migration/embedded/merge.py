"""Patches of objects whose lists have no keys, as Kustomize treats custom resources (RFC 7386, RFC 6902)."""

from __future__ import annotations

import copy
from typing import Any

from training_migration.embedded.left import Left

Json = dict[str, Any]


def merged(obj: Json, patch: Json | list[Any], path: str) -> Json:
    """The object with a patch; raises Left for one that cannot be applied."""
    if isinstance(patch, list):
        return _operated(obj, patch, path)
    result = _merge(obj, patch, path)
    assert isinstance(result, dict)
    return {**result, "metadata": {**result["metadata"], "name": obj["metadata"]["name"]}}


def _merge(value: Any, patch: Any, path: str) -> Any:
    if not isinstance(patch, dict):
        return copy.deepcopy(patch)
    if "$patch" in patch:
        raise Left(f"{path} has a `$patch` directive, which works with the built-in kinds of Kubernetes only.")
    result = dict(value) if isinstance(value, dict) else {}
    for key, each in patch.items():
        if each is None:
            result.pop(key, None)
        else:
            result[key] = _merge(result.get(key), each, path)
    return result


def _operated(obj: Json, operations: list[Any], path: str) -> Json:
    try:
        import jsonpatch  # noqa: PLC0415 - it comes with an extra
    except ImportError:
        raise Left(f"{path} is a JSON patch, which needs the extra `local` of this package.") from None
    try:
        result: Json = jsonpatch.JsonPatch(operations).apply(obj)
    except (jsonpatch.JsonPatchException, jsonpatch.JsonPointerException, TypeError, KeyError) as error:
        raise Left(f"{path} does not fit the job: {str(error).splitlines()[0]}.") from None
    return result


def changes(before: Any, after: Any) -> Any:
    """What merged into the first gives the second; None where they are the same."""
    if not (isinstance(before, dict) and isinstance(after, dict)):
        return None if before == after else copy.deepcopy(after)
    found = {key: change for key, each in after.items() if (change := changes(before.get(key), each)) is not None}
    return {**found, **{key: None for key in before if key not in after}} or None
