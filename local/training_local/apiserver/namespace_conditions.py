"""The conditions by which a terminating namespace says what it still waits for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from training_local.apiserver.errors import Json
from training_local.apiserver.storage import Entry, StoreKey

_FACTS: Mapping[str, tuple[str, str, str]] = {
    "NamespaceDeletionDiscoveryFailure": ("ResourcesDiscovered", "All resources successfully discovered", ""),
    "NamespaceDeletionGroupVersionParsingFailure": (
        "ParsedGroupVersions",
        "All legacy kube types successfully parsed",
        "",
    ),
    "NamespaceDeletionContentFailure": (
        "ContentDeleted",
        "All content successfully deleted, may be waiting on finalization",
        "",
    ),
    "NamespaceContentRemaining": ("ContentRemoved", "All content successfully removed", "SomeResourcesRemain"),
    "NamespaceFinalizersRemaining": (
        "ContentHasNoFinalizers",
        "All content-preserving finalizers finished",
        "SomeFinalizersRemain",
    ),
}
"""Condition type -> reason and message when all is well, reason when it is not."""


def terminating_conditions(left: Mapping[StoreKey, Sequence[Entry]], before: Sequence[Json], now: str) -> list[Json]:
    """Return the conditions of a terminating namespace that still holds the objects `left`."""
    counts = ", ".join(
        f"{key[1]}.{key[0]} has {len(entries)} resource instances" for key, entries in sorted(left.items())
    )
    held = Counter(name for entries in left.values() for entry in entries for name in entry.finalizers)
    finalizers = ", ".join(f"{name} in {number} resource instances" for name, number in sorted(held.items()))
    problems = {
        "NamespaceContentRemaining": counts and f"Some resources are remaining: {counts}",
        "NamespaceFinalizersRemaining": finalizers
        and f"Some content in the namespace has finalizers remaining: {finalizers}",
    }
    since = {(each["type"], each["status"]): each["lastTransitionTime"] for each in before}
    conditions: list[Json] = []
    for name, (reason, message, failure) in _FACTS.items():
        problem = problems.get(name, "")
        state = "True" if problem else "False"
        conditions.append(
            {
                "type": name,
                "status": state,
                "lastTransitionTime": since.get((name, state), now),
                "reason": failure if problem else reason,
                "message": problem or message,
            }
        )
    return conditions
