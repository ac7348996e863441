"""Strategic merge, as Kubernetes does it, of what `runtimePatches` may hold."""

from __future__ import annotations

from typing import Any, Final

Json = dict[str, Any]

_KEYS: Final = {
    "replicatedJobs": "name",
    "initContainers": "name",
    "containers": "name",
    "env": "name",
    "volumeMounts": "mountPath",
    "volumes": "name",
    "imagePullSecrets": "name",
    "schedulingGates": "name",
}
"""Lists whose items are merged by a key; all others are replaced as a whole."""


def merged(base: Json, patch: Json) -> Json:
    """The base with the patch laid over it; maps are merged, also within the items of keyed lists."""
    result = dict(base)
    for name, value in patch.items():
        old = result.get(name)
        if isinstance(value, dict) and isinstance(old, dict):
            result[name] = merged(old, value)
        elif isinstance(value, list) and isinstance(old, list) and name in _KEYS:
            result[name] = _merged_list(old, value, _KEYS[name])
        else:
            result[name] = value
    return result


def _merged_list(base: list[Json], patch: list[Json], key: str) -> list[Json]:
    """Untouched items keep their order, patched and new ones have the patch's; new ones come as early as they can."""
    place = {item[key]: position for position, item in enumerate(base)}
    named = {item[key] for item in patch}
    untouched = [item for item in base if item[key] not in named]
    touched = [merged(base[place[item[key]]], item) if item[key] in place else item for item in patch]
    result = []
    while untouched and touched:
        first = place[untouched[0][key]] < place.get(touched[0][key], -1)
        result.append((untouched if first else touched).pop(0))
    return result + untouched + touched
