"""What has changed from one survey to the next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from training_migration.findings import Verdict

Json = dict[str, Any]

_ORDER: Final = [*(each.value for each in Verdict), None]
"""From the best to what is broken."""


def progress(before: Json, now: Sequence[Json], source: str) -> Json:
    """Which jobs are better off than in an earlier survey, or worse, which are new, and which are no longer there."""
    old, new = _by_name(before["jobs"]), _by_name(now)
    changed = [(_ORDER.index(old[key]["verdict"]), _ORDER.index(new[key]["verdict"]), key) for key in new if key in old]
    return {
        "source": source,
        "target": before["target"],
        "summary": before["summary"],
        "better": [_change(old, new, key) for first, second, key in changed if second < first],
        "worse": [_change(old, new, key) for first, second, key in changed if second > first],
        "new": [new[key]["ref"] for key in new if key not in old],
        "gone": [old[key]["ref"] for key in old if key not in new],
    }


def _by_name(jobs: Sequence[Json]) -> dict[tuple[str, ...], Json]:
    """Jobs by kind, namespace and name, wherever they stand; those without a name by their place."""
    return {_key(job["ref"]): job for job in jobs}


def _key(ref: Mapping[str, Any]) -> tuple[str, ...]:
    if ref["name"]:
        return ref["kind"], ref["namespace"], ref["name"]
    return ref["kind"], ref["source"], str(ref["line"])


def _change(old: Mapping[tuple[str, ...], Json], new: Mapping[tuple[str, ...], Json], key: tuple[str, ...]) -> Json:
    return {"ref": new[key]["ref"], "from": old[key]["verdict"], "to": new[key]["verdict"]}


def in_one_line(since: Json) -> str:
    """For users."""
    words = {"better": "better", "worse": "worse", "new": "new", "gone": "no longer there (moved or deleted)"}
    counted = [f"{len(since[field])} {said}" for field, said in words.items() if since[field]]
    return f"Since {since['source']}: {', '.join(counted) or 'no change'}."
